//! Decisions 1: faults of a body, its size and its content type, and their errors.

use crate::support::raw::Wire;
use crate::support::{Customer, Server, fox, fox_with};
use serde_json::json;

const PATH: &str = "/text-generations";
const MIB: usize = 1_048_576;

/// A valid body of exactly this many bytes.
fn body_of_size(bytes: usize) -> String {
    let mut body = fox().to_string();
    body.push_str(&" ".repeat(bytes - body.len()));
    body
}

fn head(server: &Server, customer: &Customer, more: &str) -> Vec<u8> {
    format!(
        "POST /api/v1{PATH} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\n{more}\r\n\r\n",
        server.address, customer.key
    )
    .into_bytes()
}

#[test]
fn malformed_json_is_422_of_the_body() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let whole = fox().to_string();
    let cut = &whole[..whole.len() - 1];
    for body in [
        "",
        " ",
        "{",
        "}",
        "nul",
        cut,
        "null",
        "[]",
        "\"x\"",
        "1",
        "true",
        "{}{}",
        "\u{feff}{}",
    ] {
        server
            .native(&customer, "POST", PATH)
            .text(body)
            .invalid(&["body"]);
    }
}

#[test]
fn a_wrong_json_type_is_422_of_the_field() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = json!({"prompt": 1, "aspect_ratio": [], "resolution": {}, "callback_url": false, "metadata": "x"});
    server.generation(&customer, PATH, &body).invalid(&[
        "prompt",
        "aspect_ratio",
        "resolution",
        "callback_url",
        "metadata",
    ]);
}

#[test]
fn an_unknown_field_is_refused_by_name() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"aspectRatio": "1:1", "n": 2, "": 1}));
    let answer = server
        .generation(&customer, PATH, &body)
        .invalid(&["aspectRatio", "n", "\"\""]);
    assert!(answer.text().contains("did you mean `aspect_ratio`?"));
}

#[test]
fn every_faulty_field_is_named() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body =
        json!({"prompt": "", "resolution": "9K", "metadata": 1, "size": "big", "callback_url": ""});
    server
        .generation(&customer, PATH, &body)
        .idempotent("two words")
        .invalid(&[
            "prompt",
            "aspect_ratio",
            "resolution",
            "metadata",
            "size",
            "callback_url",
            "Idempotency-Key",
        ]);
}

#[test]
fn a_duplicate_key_is_422_of_that_key() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let bodies = [
        (
            r#"{"prompt":"a","prompt":"b","aspect_ratio":"1:1"}"#,
            "prompt",
        ),
        (
            r#"{"prompt":"a","pr\u006fmpt":"a","aspect_ratio":"1:1"}"#,
            "prompt",
        ),
        (
            r#"{"prompt":"a","aspect_ratio":"1:1","metadata":{"k":1,"k":1}}"#,
            "metadata.k",
        ),
        (
            r#"{"prompt":"a","aspect_ratio":"1:1","metadata":{"a":[0,{"k":1,"\u006b":2}]}}"#,
            "metadata.a[1].k",
        ),
        (
            r#"{"prompt":"a","aspect_ratio":"1:1","metadata":{},"metadata":{}}"#,
            "metadata",
        ),
    ];
    for (body, field) in bodies {
        server
            .native(&customer, "POST", PATH)
            .text(body)
            .invalid(&[field]);
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn a_body_may_have_one_mebibyte_as_declared() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .native(&customer, "POST", PATH)
        .text(&body_of_size(MIB))
        .expect(202);
    server
        .native(&customer, "POST", PATH)
        .text(&body_of_size(MIB + 1))
        .refused(413, "payload_too_large");
    // The declared length decides alone: the server does not wait for the body.
    let mut wire = Wire::open(server.address);
    wire.send(&head(
        &server,
        &customer,
        &format!("Content-Length: {}", MIB + 1),
    ));
    wire.answer_to("POST")
        .unwrap()
        .assert_problem(413, "payload_too_large");
}

#[test]
fn a_body_may_have_one_mebibyte_as_it_arrives() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (bytes, status) in [(MIB, 202), (MIB + 1, 413)] {
        let mut wire = Wire::open(server.address);
        wire.send(&head(&server, &customer, "Transfer-Encoding: chunked"));
        for chunk in body_of_size(bytes).as_bytes().chunks(60_000) {
            wire.send(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.send(chunk);
            wire.send(b"\r\n");
        }
        wire.send(b"0\r\n\r\n");
        let answer = wire.answer_to("POST").unwrap();
        assert_eq!(answer.status, status);
        if status == 413 {
            answer.assert_problem(413, "payload_too_large");
        }
    }
    server.assert_well();
}

#[test]
fn a_body_is_json_in_utf_8_and_not_encoded() {
    let server = Server::start();
    let customer = server.customer("2.00");
    let body = fox().to_string();
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "application/vnd.api+json",
        "application/json; charset=\"utf-8\"",
    ] {
        server
            .native(&customer, "POST", PATH)
            .bytes(good, body.as_bytes())
            .expect(202);
    }
    for bad in [
        "text/json",
        "text/plain",
        "application/json; charset=utf-16",
        "application/xml",
        "json",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "*/*",
        "",
    ] {
        server
            .native(&customer, "POST", PATH)
            .bytes(bad, body.as_bytes())
            .refused(415, "unsupported_media_type");
    }
    server
        .native(&customer, "POST", PATH)
        .untyped(body.as_bytes())
        .refused(415, "unsupported_media_type");
    for coding in ["gzip", "br", "zstd", "deflate", "gzip, gzip", "x"] {
        server
            .generation(&customer, PATH, &fox())
            .header("Content-Encoding", coding)
            .refused(415, "unsupported_media_type");
    }
    server
        .generation(&customer, PATH, &fox())
        .header("Content-Encoding", "identity")
        .expect(202);
}

#[test]
fn null_means_absent_for_an_optional_field_and_a_wrong_type_for_a_required_one() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let nothing = json!({"resolution": null, "callback_url": null, "metadata": null, "input_images_urls": null});
    for path in [
        "/text-generations",
        "/nb2/text-generations",
        "/nb/text-generations",
    ] {
        server
            .generation(&customer, path, &fox_with(nothing.clone()))
            .expect(202);
    }
    let body = json!({"prompt": null, "aspect_ratio": null, "input_images_urls": null});
    server
        .generation(&customer, "/url-generations", &body)
        .invalid(&["prompt", "aspect_ratio", "input_images_urls"]);
}

#[test]
fn a_body_with_very_many_faults_gets_an_answer_of_bounded_size() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let unknown: String = (0..60_000).map(|at| format!(",\"f{at}\":0")).collect();
    let zeros = vec!["0"; 300_000].join(",");
    for (path, tail) in [
        ("/text-generations", unknown),
        (
            "/url-generations",
            format!(",\"input_images_urls\":[{zeros}]"),
        ),
    ] {
        let body = format!("{{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\"{tail}}}");
        let answer = server
            .native(&customer, "POST", path)
            .text(&body)
            .refused(422, "validation_failed");
        assert!(answer.body.len() < 32_768, "{}", answer.body.len());
        assert_eq!(answer.faulty_fields().pop().unwrap(), "body");
    }
}
