//! Hostile JSON, 19 to 23: invalid JSON, and more than a parser expects.

use crate::support::{Answer, Customer, Server};

const PATH: &str = "/text-generations";

fn send(server: &Server, customer: &Customer, body: &[u8]) -> Answer {
    let call = server.native(customer, "POST", PATH);
    call.bytes("application/json", body).send()
}

/// Asserts a well-formed 422 and returns the fields that it names.
#[track_caller]
fn faults(server: &Server, customer: &Customer, body: &[u8]) -> Vec<String> {
    let answer = send(server, customer, body);
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    assert_eq!(answer.status, 422, "{shown}: {}", answer.text());
    answer.assert_problem(422, "validation_failed");
    answer.faulty_fields()
}

/// The text of a valid body with one more member.
fn with(member: &str) -> String {
    format!("{{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\",{member}}}")
}

#[test]
fn hostile_19_depth() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for depth in [33, 127, 128, 129, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let middle = if open == "[" { "" } else { "1" };
            let nested = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            let unclosed = open.repeat(depth);
            assert_eq!(faults(&server, &customer, unclosed.as_bytes()), ["body"]);
            if open == "[" {
                assert_eq!(faults(&server, &customer, nested.as_bytes()), ["body"]);
            }
            for field in [
                "prompt",
                "aspect_ratio",
                "resolution",
                "callback_url",
                "unknown",
            ] {
                let body = format!("{{\"{field}\":{nested}}}");
                let named = faults(&server, &customer, body.as_bytes());
                assert!(
                    named.iter().any(|it| it == field),
                    "{depth} {field}: {named:?}"
                );
            }
            let metadata = with(&format!("\"metadata\":{{\"m\":{nested}}}"));
            let named = faults(&server, &customer, metadata.as_bytes());
            // The service does not parse metadata that is too large.
            let place = match nested.len() > 16 * 1024 {
                true => "metadata",
                false => "metadata.m",
            };
            let is_named = |it: &String| it.starts_with(place);
            assert!(named.len() == 1 && is_named(&named[0]), "{named:?}");
        }
    }
    server.assert_well();
}

#[test]
fn hostile_20_duplicate_keys() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for (body, field) in [
        (with("\"prompt\":\"b\""), "prompt"),
        (with("\"\\u0070rompt\":\"b\""), "prompt"),
        (with("\"metadata\":{\"a\":1,\"a\":1}"), "metadata.a"),
        (with("\"metadata\":{\"\":1,\"\":1}"), "metadata.\"\""),
        (with("\"metadata\":{\"é\":1,\"\\u00e9\":1}"), "metadata.é"),
        (with("\"metadata\":[{\"a\":1,\"a\":1}]"), "metadata"),
    ] {
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            [field],
            "{body}"
        );
    }
    let many: String = (0..20_000).map(|_| "\"prompt\":1,").collect();
    let body = format!("{{{many}\"prompt\":1}}");
    assert!(faults(&server, &customer, body.as_bytes()).len() <= 101);
    // The same letter composed and decomposed makes two names.
    let body = with("\"metadata\":{\"\u{e9}\":1,\"e\u{301}\":1}");
    assert_eq!(send(&server, &customer, body.as_bytes()).status, 202);
    server.assert_well();
}

#[test]
fn hostile_21_numbers() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let digits = "9".repeat(400);
    for number in [
        "1e400",
        "-1e400",
        "1e999999999999",
        &digits,
        &format!("1{digits}.5"),
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{number}}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["metadata.n"],
            "{number}"
        );
    }
    let small = format!("0.{}1", "0".repeat(400));
    for number in [
        "-0",
        "-0.0",
        "1.0",
        "1",
        "9007199254740993",
        "18446744073709551616",
        "1e-400",
        &small,
        "1E+2",
        "0e0",
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{number}}}"));
        assert_eq!(
            send(&server, &customer, body.as_bytes()).status,
            202,
            "{number}"
        );
    }
    for malformed in [
        "01", "+1", "1.", ".1", "1e", "0x1", "1_000", "--1", "Infinity", "-", "1e+",
    ] {
        let body = with(&format!("\"metadata\":{{\"n\":{malformed}}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["body"],
            "{malformed}"
        );
    }
    for wrong in ["1e400", "-0", &digits] {
        let body = with(&format!("\"resolution\":{wrong}"));
        assert_eq!(faults(&server, &customer, body.as_bytes()), ["resolution"]);
    }
    server.assert_well();
}

#[test]
fn hostile_22_characters() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let prompt = |text: &str| format!("{{\"prompt\":\"{text}\",\"aspect_ratio\":\"1:1\"}}");
    for lone in [
        "\\ud800",
        "\\udc00",
        "\\udc00\\ud800",
        "a\\ud83db",
        "\\ud83d\\u0041",
    ] {
        assert_eq!(
            faults(&server, &customer, prompt(lone).as_bytes()),
            ["prompt"],
            "{lone}"
        );
        let body = with(&format!("\"metadata\":{{\"m\":[\"{lone}\"]}}"));
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["metadata.m[0]"]
        );
        let body = with(&format!("\"{lone}\":1"));
        assert_eq!(faults(&server, &customer, body.as_bytes()), ["body"]);
        let body = with(&format!("\"metadata\":{{\"{lone}\":1}}"));
        let named = faults(&server, &customer, body.as_bytes());
        assert!(
            named.len() == 1 && named[0].starts_with("metadata"),
            "{named:?}"
        );
    }
    for (raw, what) in [
        (
            &b"{\"prompt\":\"a\0\",\"aspect_ratio\":\"1:1\"}"[..],
            "a raw NUL",
        ),
        (
            b"{\"prompt\":\"a\nb\",\"aspect_ratio\":\"1:1\"}",
            "a raw line feed",
        ),
        (
            b"{\"prompt\":\"\xc0\xaf\",\"aspect_ratio\":\"1:1\"}",
            "an overlong slash",
        ),
        (
            b"{\"prompt\":\"\xed\xa0\x80\",\"aspect_ratio\":\"1:1\"}",
            "a surrogate in UTF-8",
        ),
        (
            b"{\"prompt\":\"\xf5\x80\x80\x80\",\"aspect_ratio\":\"1:1\"}",
            "past U+10FFFF",
        ),
        (
            b"{\"prompt\":\"\xff\",\"aspect_ratio\":\"1:1\"}",
            "no UTF-8 at all",
        ),
        (
            b"\xef\xbb\xbf{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\"}",
            "a byte order mark",
        ),
        (b"\xff\xfe{\0}\0", "UTF-16"),
    ] {
        assert_eq!(faults(&server, &customer, raw), ["body"], "{what}");
    }
    for (written, read) in [
        ("\\u0000a", "a"),
        ("\u{2028}", "\u{2028}"),
        ("\\u2028", "\u{2028}"),
        ("\\ud83e\\udd8a", "🦊"),
        ("\u{7f}\u{feff}", "\u{7f}\u{feff}"),
        ("\\/\\b\\f", "/\u{8}\u{c}"),
    ] {
        let answer = send(&server, &customer, prompt(written).as_bytes());
        server.job_once(&customer, &answer.job_id(), "done");
        assert_eq!(server.generator.orders().pop().unwrap().prompt, read);
    }
    server.assert_well();
}

#[test]
fn hostile_23_a_body_that_is_not_one_object_is_rejected() {
    let server = Server::start();
    let customer = server.customer("10.00");
    for body in [
        "",
        " \t\r\n",
        "null",
        "[]",
        "\"x\"",
        "1",
        "true",
        "{\"prompt\":\"a\",}",
        "{,}",
        "{\"prompt\" \"a\"}",
        "{'prompt':'a'}",
        "{prompt:\"a\"}",
        "{\"prompt\":NaN}",
        "{\"prompt\":undefined}",
        "{} {}",
        "{}x",
        "/* */{}",
        "{}//",
        "{\"a\":1}}",
        "{\"a\":[1}",
        "{\"prompt\":\"a",
        "{\"prompt\":\"\\",
        "{\"prompt\":\"\\u12",
        "{\"prompt\":\"\\x41\"}",
        "[{}]",
    ] {
        assert_eq!(
            faults(&server, &customer, body.as_bytes()),
            ["body"],
            "{body}"
        );
    }
    server.assert_well();
}
