//! Errors in the format of the OpenAI SDKs.

use crate::fixture::ResponseAssertions;
use crate::support::{Behaviour, Options, Server, merge};
use serde_json::{Value, json};

const INVALID: &str = "invalid_request_error";

fn fox() -> Value {
    json!({"model": "fast", "prompt": "a red fox"})
}

#[test]
fn a_missing_or_invalid_key_is_401() {
    let server = Server::start();
    for path in ["/v1/images/generations", "/v1/images/edits"] {
        let missing = server.post(path).json(&fox()).send();
        missing.assert_openai_error(401, INVALID, None);
        let bad = server.post(path).bearer("bad").json(&fox()).send();
        bad.assert_openai_error(401, INVALID, Some("invalid_api_key"));
        assert_eq!(bad.header("www-authenticate"), Some("Bearer"));
    }
}

#[test]
fn a_model_out_of_scope_is_403_and_an_unknown_one_404() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast"]}));
    let call = |model: &str| {
        let mut body = fox();
        merge(&mut body, json!({ "model": model }));
        server.openai(&customer, &body).send()
    };
    call("pro").assert_openai_error(403, INVALID, Some("model_not_allowed"));
    let unknown = call("dall-e-3");
    let said = unknown.assert_openai_error(404, INVALID, Some("model_not_found"));
    assert!(said.contains("`dall-e-3`"), "{said}");
    assert_eq!(unknown.json()["error"]["param"], "model");
}

#[test]
fn a_key_is_rejected_from_an_address_outside_its_ranges() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"allowed_ips": ["192.0.2.0/24"]}));
    let answer = server.openai(&customer, &fox()).send();
    let said = answer.assert_openai_error(403, INVALID, Some("address_not_allowed"));
    assert!(said.contains("127.0.0.1"), "{said}");
}

#[test]
fn a_body_at_fault_is_400_and_names_the_option() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (extra, field) in [
        (json!({"prompt": null}), "prompt"),
        (json!({"prompt": ""}), "prompt"),
        (json!({"prompt": "\u{0}"}), "prompt"),
        (json!({"prompt": ["a"]}), "prompt"),
        (json!({"prompt": 7}), "prompt"),
        (json!({"prompt": true}), "prompt"),
        (json!({"model": ["pro"]}), "model"),
        (json!({"model": {"id": "pro"}}), "model"),
        (json!({"model": 7}), "model"),
        (json!({"n": [2]}), "n"),
        (json!({"size": ["1024x1024"]}), "size"),
        (
            json!({"response_format": {"type": "url"}}),
            "response_format",
        ),
        (json!({"prompt": "x".repeat(40_000)}), "prompt"),
        (json!({"n": 0}), "n"),
        (json!({"n": 11}), "n"),
        (json!({"n": "many"}), "n"),
        (json!({"size": "large"}), "size"),
        (json!({"size": "0x0"}), "size"),
        (json!({"size": "99999x1"}), "size"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"partial_images": 4}), "partial_images"),
        (json!({"background": "transparent"}), "background"),
        (json!({"output_format": "jpg"}), "output_format"),
        (json!({"output_format": "gif"}), "output_format"),
        (json!({"output_format": 7}), "output_format"),
        (
            json!({"output_format": "jpeg", "output_compression": 101}),
            "output_compression",
        ),
        (
            json!({"output_format": "jpeg", "output_compression": -1}),
            "output_compression",
        ),
        (
            json!({"output_format": "jpeg", "output_compression": 0.5}),
            "output_compression",
        ),
        (json!({"response_format": "file"}), "response_format"),
        (
            json!({"markup": {"image_url": "https://pictures.example/a"}}),
            "markup",
        ),
    ] {
        let mut body = fox();
        merge(&mut body, extra);
        let answer = server.openai(&customer, &body).send();
        answer.assert_openai_field(field);
    }
    let send = |text: &str| {
        let call = server.post("/v1/images/generations").bearer(&customer.key);
        call.text(text).send()
    };
    for text in ["", "[]", "{", "7"] {
        let said = send(text).assert_openai_error(400, INVALID, None);
        assert!(!said.contains(": :"), "{said}");
    }
    send(r#"{"prompt":"a","prompt":"b"}"#).assert_openai_field("prompt");
    // Half an emoji, as JavaScript programs send it after cutting a prompt.
    let said = send(r#"{"prompt":"a \ud83d"}"#).assert_openai_field("prompt");
    assert!(said.contains("lone surrogate"), "{said}");
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn each_way_to_fail_has_its_status() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (behaviour, status, kind, code) in [
        (Behaviour::Refuse("no"), 400, INVALID, None),
        (Behaviour::NotAsk("send PNG"), 400, INVALID, None),
        (
            Behaviour::Block("violence"),
            400,
            "image_generation_user_error",
            Some("moderation_blocked"),
        ),
        (
            Behaviour::Transient("connection refused"),
            503,
            "server_error",
            Some("unavailable"),
        ),
        (Behaviour::Garbage, 500, "server_error", None),
    ] {
        server.generator.behave(behaviour);
        let answer = server.openai(&customer, &fox()).send();
        answer.assert_openai_error(status, kind, code);
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn a_balance_that_is_too_low_is_429_and_not_tried_again() {
    let server = Server::start();
    let customer = server.customer("0.01");
    let answer = server.openai(&customer, &fox()).send();
    answer.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}

#[test]
fn paused_is_503_and_a_timeout_is_504() {
    let server = Server::with(Options::new().set("compat.timeout_seconds", 1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let late = server.openai(&customer, &fox()).send();
    late.assert_openai_error(504, "server_error", Some("timeout"));
    server.generator.release_all();
    server.until_live(0);
    server.pause(&["fast"]);
    let another = json!({"model": "fast", "prompt": "another fox"});
    let paused = server.openai(&customer, &another).send();
    paused.assert_openai_error(503, "server_error", Some("unavailable"));
    assert!(paused.header("retry-after").is_some());
}

#[test]
fn unknown_paths_and_methods_have_the_same_error_format() {
    let server = Server::start();
    for path in [
        "/v1/images",
        "/v1/images/",
        "/v1/images/variations",
        "/v1/images/generations/x",
    ] {
        let answer = server.post(path).json(&fox()).send();
        answer.assert_openai_error(404, INVALID, Some("unknown_url"));
    }
    // Without `images` in the path, the way of sending the key distinguishes the APIs.
    let chat = || server.post("/v1/chat/completions").json(&fox());
    let answer = chat().bearer("tt_x").send();
    answer.assert_openai_error(404, INVALID, Some("unknown_url"));
    let answer = chat().header("x-goog-api-key", "tt_x").send();
    answer.assert_google_error(404, "NOT_FOUND");
    for path in ["/v1/images/generations", "/v1/images/edits"] {
        let answer = server.get(path).send();
        answer.assert_openai_error(405, INVALID, Some("method_not_supported"));
        assert_eq!(answer.header("allow"), Some("POST"));
    }
}
