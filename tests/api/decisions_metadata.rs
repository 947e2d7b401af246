//! Decisions 1, "metadata".

use crate::support::{Server, fox};
use serde_json::{Value, json};

const PATH: &str = "/text-generations";

/// The status of a call with this metadata text and, for a 422, the fields that it names.
fn status_and_fields(server: &Server, key: &str, metadata: &str) -> (u16, Vec<String>) {
    let body = format!("{{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\",\"metadata\":{metadata}}}");
    let answer = server
        .post(&format!("/api/v1{PATH}"))
        .bearer(key)
        .text(&body)
        .send();
    let fields = match answer.status {
        422 => answer.faulty_fields(),
        _ => Vec::new(),
    };
    (answer.status, fields)
}

const ACCEPTED: (u16, Vec<String>) = (202, Vec::new());

fn rejected(field: &str) -> (u16, Vec<String>) {
    (422, vec![field.to_owned()])
}

#[test]
fn metadata_has_at_most_16_kib_as_compact_json() {
    let server = Server::start();
    let key = server.customer("10.00").key;
    // `{"k":"..."}` has eight bytes besides the text.
    let sized = |bytes: usize| format!("{{\"k\":\"{}\"}}", "x".repeat(bytes - 8));
    assert_eq!(status_and_fields(&server, &key, &sized(16_384)), ACCEPTED);
    assert_eq!(
        status_and_fields(&server, &key, &sized(16_385)),
        rejected("metadata")
    );
    // The size counts the compact form: no blanks, an escape as its character, and an é as two bytes.
    let spaced = sized(16_384).replace(
        "\":\"",
        &format!("\"{}:{}\"", " ".repeat(5_000), "\n".repeat(5_000)),
    );
    assert_eq!(status_and_fields(&server, &key, &spaced), ACCEPTED);
    let escaped = format!("{{\"k\":\"{}\"}}", "\\u0078".repeat(16_376));
    assert_eq!(status_and_fields(&server, &key, &escaped), ACCEPTED);
    let accents = |count: usize| format!("{{\"k\":\"{}\"}}", "é".repeat(count));
    assert_eq!(status_and_fields(&server, &key, &accents(8_188)), ACCEPTED);
    assert_eq!(
        status_and_fields(&server, &key, &accents(8_189)),
        rejected("metadata")
    );
    // Keys that begin with `_` count as well, because the service stores them.
    let internal = sized(16_385).replace("\"k\"", "\"_\"");
    assert_eq!(
        status_and_fields(&server, &key, &internal),
        rejected("metadata")
    );
}

/// A body of 1 MiB can hold a tree of many times that size. The service checks the size first and reports no other fault.
#[test]
fn hostile_27_metadata_that_is_too_large_is_not_parsed() {
    let server = Server::start();
    let key = server.customer("10.00").key;
    let filler = "0,".repeat(450_000);
    for fault in ["1e999", "{\"a\":1,\"a\":2}", &"[".repeat(33), "\"\\ud800\""] {
        let closed = format!("{fault}{}", "]".repeat(fault.matches('[').count()));
        let metadata = |filler: &str| format!("{{\"k\":[{filler}{closed}]}}");
        let (status, fields) = status_and_fields(&server, &key, &metadata(""));
        assert_eq!(status, 422);
        assert!(fields[0].starts_with("metadata.k[0]"), "{fields:?}");
        assert_eq!(
            status_and_fields(&server, &key, &metadata(&filler)),
            rejected("metadata")
        );
    }
}

#[test]
fn metadata_is_nested_at_most_32_deep() {
    let server = Server::start();
    let key = server.customer("10.00").key;
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let arrays = |depth: usize| {
        format!(
            "{{\"a\":{}{}}}",
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    assert_eq!(status_and_fields(&server, &key, &objects(32)), ACCEPTED);
    assert_eq!(status_and_fields(&server, &key, &arrays(32)), ACCEPTED);
    let path = format!("metadata{}", ".a".repeat(32));
    assert_eq!(
        status_and_fields(&server, &key, &objects(33)),
        rejected(&path)
    );
    let path = format!("metadata.a{}", "[0]".repeat(31));
    assert_eq!(
        status_and_fields(&server, &key, &arrays(33)),
        rejected(&path)
    );
}

#[test]
fn every_json_value_is_allowed_in_metadata() {
    let server = Server::start();
    let key = server.customer("10.00").key;
    for value in [
        "null",
        "true",
        "[]",
        "{}",
        "\"\"",
        "\"\\u0000\"",
        "0",
        "-0",
        "1.0",
        "1e5",
        "5e-324",
        "1.7976931348623157e308",
        "12345678901234567890123",
        "\"\u{2028}\u{10ffff}\"",
    ] {
        let metadata = format!("{{\"k\":{value}}}");
        assert_eq!(
            status_and_fields(&server, &key, &metadata),
            ACCEPTED,
            "{value}"
        );
    }
    let beyond = r#"{"k":[1,1e400]}"#;
    assert_eq!(
        status_and_fields(&server, &key, beyond),
        rejected("metadata.k[1]")
    );
}

#[test]
fn keys_that_begin_with_an_underscore_are_accepted() {
    let server = Server::start();
    let key = server.customer("10.00").key;
    for metadata in [
        r#"{"_":1}"#,
        r#"{"_a":1,"__proto__":{"_b":2},"":0}"#,
        r#"{"_only":{"x":1}}"#,
    ] {
        assert_eq!(
            status_and_fields(&server, &key, metadata),
            ACCEPTED,
            "{metadata}"
        );
    }
}

#[test]
fn metadata_is_part_of_the_idempotent_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |metadata: Value| {
        let mut body = fox();
        body["metadata"] = metadata;
        server.generation(&customer, PATH, &body).idempotent("m")
    };
    let first = call(json!({"a": 1, "_b": 2})).expect(202).job_id();
    assert_eq!(call(json!({"_b": 2, "a": 1})).expect(202).job_id(), first);
    for other in [
        json!({"a": 1}),
        json!({"a": 1, "_b": 3}),
        json!({}),
        json!(null),
    ] {
        call(other).refused(422, "idempotency_key_reused");
    }
}
