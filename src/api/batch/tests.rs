//! Custom ids, the lines of requests, and the faults of a body.

use super::*;
use crate::catalog::catalog;
use crate::config::{Config, Sources};
use tintype_api::fault_list::MAX_FAULTS;

fn read(body: impl AsRef<[u8]>, form: Form) -> Result<BatchRequest, Vec<FieldFault>> {
    let config = Config::load(&Sources::default()).unwrap();
    let bounds = Bounds {
        catalog: &catalog(&config.tiers),
        max_prompt_chars: 100,
        max_requests: 200,
        max_request_bytes: 400,
    };
    parse(body.as_ref(), form, bounds).request
}

fn parsed(body: impl AsRef<[u8]>, form: Form) -> Result<Vec<Option<String>>, Vec<String>> {
    match read(body, form) {
        Ok(batch) => Ok(batch.entries.into_iter().map(|it| it.custom_id).collect()),
        Err(faults) => Err(faults
            .into_iter()
            .map(|it| format!("{}: {}", it.field, it.message))
            .collect()),
    }
}

fn batch(requests: &str) -> Result<Vec<Option<String>>, Vec<String>> {
    parsed(format!("{{\"requests\": [{requests}]}}"), Form::Json)
}

fn fox(custom_id: &str) -> String {
    format!(
        r#"{{"custom_id": {custom_id}, "model": "fast", "prompt": "a fox", "aspect_ratio": "1:1"}}"#
    )
}

#[test]
fn the_default_custom_id_is_the_position() {
    let read = batch(&[fox("null"), fox("\"1\""), fox("\"x\"")].join(","));
    assert_eq!(read, Ok(vec![None, None, Some("x".into())]));
}

#[test]
fn a_custom_id_is_unique() {
    let read = batch(&[fox("\"1\""), fox("null"), fox("\"x\""), fox("\"x\"")].join(","));
    assert_eq!(
        read,
        Err(vec![
            "requests[0].custom_id: is also that of requests[1]".into(),
            "requests[3].custom_id: is also that of requests[2]".into(),
        ])
    );
    let exchanged = batch(&[fox("\"1\""), fox("\"0\"")].join(","));
    assert_eq!(exchanged, Ok(vec![Some("1".into()), Some("0".into())]));
    let not_a_position = batch(&[fox("\"01\""), fox("null")].join(","));
    assert_eq!(not_a_position, Ok(vec![Some("01".into()), None]));
}

#[test]
fn a_request_that_cannot_be_read_has_no_default_custom_id() {
    let read = batch(&[fox("\"1\""), "7".into(), fox("\"3\""), fox("\"\"")].join(","));
    let faults = read.unwrap_err();
    let fields: Vec<&str> = faults
        .iter()
        .filter_map(|it| it.split(':').next())
        .collect();
    assert_eq!(fields, ["requests[1]", "requests[3].custom_id"]);
}

#[test]
fn a_byte_order_mark_before_the_first_line_is_ignored() {
    let lines = format!("\u{feff}{}\n{}", fox("\"a\""), fox("null"));
    assert_eq!(parsed(lines, Form::Lines), Ok(vec![Some("a".into()), None]));
    let faults = parsed("\u{feff}\n{}", Form::Lines).unwrap_err();
    assert!(faults[0].contains("on line 2: "), "{faults:?}");
    let object = format!("\u{feff}{{\"requests\": [{}]}}", fox("null"));
    assert_eq!(parsed(object, Form::Json), Ok(vec![None]));
    let utf_16: Vec<u8> = "\u{feff}{}\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let expected = "body: is not JSON Lines: it is UTF-16, but must be UTF-8";
    assert_eq!(parsed(utf_16, Form::Lines), Err(vec![expected.into()]));
}

#[test]
fn a_request_has_as_many_bytes_as_the_body_of_a_single_call() {
    let line = |bytes: usize| {
        let fox = fox("null");
        let spaces = " ".repeat(bytes - fox.len() + 1);
        fox.replacen(' ', &spaces, 1)
    };
    assert_eq!(line(401).len(), 401);
    assert!(parsed(line(400), Form::Lines).is_ok());
    let message = "has 401 bytes; at most 400 are allowed";
    let expected = format!("requests[0]: on line 1: {message}");
    assert_eq!(parsed(line(401), Form::Lines), Err(vec![expected]));
    let expected = format!("requests[0]: {message}");
    assert_eq!(batch(&line(401)), Err(vec![expected]));
}

#[test]
fn too_many_requests_are_one_fault() {
    let faults = batch(&["1"; 201].join(",")).unwrap_err();
    assert_eq!(faults, ["requests: has 201 entries; 1 to 200 are allowed"]);
}

#[test]
fn lines_may_be_blank_and_end_with_lf_or_crlf() {
    let body = format!("{}\r\n\n  \n{}", fox("null"), fox("\"b\""));
    assert_eq!(parsed(&body, Form::Lines), Ok(vec![None, Some("b".into())]));
    let body = format!("{}\n\n[1]\n", fox("null"));
    let faults = parsed(&body, Form::Lines).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].starts_with("requests[1]: on line 3: is not a well-formed JSON object"),
        "{faults:?}"
    );
}

#[test]
fn a_syntax_error_has_one_line_number() {
    let body = format!("{}\n{{\"model\": \"fast\",}}\n", fox("null"));
    let expected =
        "requests[1]: on line 2: is not a well-formed JSON object: trailing comma at column 18";
    assert_eq!(parsed(&body, Form::Lines), Err(vec![expected.into()]));
}

#[test]
fn each_fault_names_the_line_of_its_request() {
    let body = format!(
        "{}\n\n{}\n \n{{\"model\": \"pro\"}}\n",
        fox("\"a\""),
        fox("\"a\"")
    );
    let faults = |lines: [u8; 3]| {
        let [first, second, third] = lines;
        Err(vec![
            format!("requests[2].prompt: on line {third}: is required"),
            format!("requests[2].aspect_ratio: on line {third}: is required"),
            format!(
                "requests[1].custom_id: on line {second}: is also that of requests[0] (line {first})"
            ),
        ])
    };
    assert_eq!(parsed(&body, Form::Lines), faults([1, 3, 5]));
    let table = Form::Table(vec![2, 4, 7]);
    assert_eq!(parsed(&body, table), faults([2, 4, 7]));
}

#[test]
fn a_document_that_is_sent_as_lines_has_one_fault() {
    let document = format!("{{\n  \"requests\": [\n    {}\n  ]\n}}\n", fox("null"));
    for body in [document.clone(), document.replace(']', "")] {
        let faults = parsed(&body, Form::Lines).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("one JSON document"), "{faults:?}");
    }
}

#[test]
fn a_body_that_is_not_text_has_one_fault() {
    let body = [fox("null").as_bytes(), b"\n\xff\n\xfe\n\xff"].concat();
    let expected = "body: is not JSON Lines: line 2 is not UTF-8 text";
    assert_eq!(parsed(&body, Form::Lines), Err(vec![expected.into()]));
}

#[test]
fn faults_are_listed_up_to_a_bound() {
    let body: Vec<&str> = (0..150).map(|_| "{}").collect();
    let faults = batch(&body.join(",")).unwrap_err();
    assert_eq!(faults.len(), MAX_FAULTS + 1);
    assert_eq!(
        faults.last().unwrap(),
        "body: has 350 more errors that are not listed"
    );
}

/// Idempotency records outlive an upgrade of the service.
#[test]
fn the_fingerprint_of_a_batch_stays_as_it_was_recorded() {
    let request = r#"{"model": "fast", "prompt": "a fox", "aspect_ratio": "1:1", "metadata": {"b": 2.0, "a": [1]}}"#;
    let body = format!(r#"{{"requests": [{request}, {}]}}"#, fox("\"x\""));
    let mut batch = read(body, Form::Json).unwrap();
    batch.idempotency_key = Some("key".into());
    let print = batch.idempotency().unwrap().fingerprint.0;
    assert_eq!(
        hex::encode(print),
        "eb20e3c67d6d0a51a1eb9beb88ff4a7d104407a1c55297c6478b7c31901f7bae"
    );
}
