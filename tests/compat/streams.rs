//! `streamGenerateContent`.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::http::Request;
use crate::support::sample_images::tiny_png;
use crate::support::{Behaviour, Customer, Server, merge, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

fn call(server: &Server, customer: &Customer, target: &str, body: &Value) -> Request {
    server
        .post(&format!("/v1beta/models/pro:streamGenerateContent{target}"))
        .header("x-goog-api-key", &customer.key)
        .json(body)
}

/// The sign of life of a stream of events, as a chunk of the body.
const KEEP_ALIVE: &str = "\r\n4\r\n\r\n\r\n";

/// The objects of a stream, which may contain only `data:` lines and blank lines. Keep-alives come before all events.
#[track_caller]
fn events(text: &str) -> Vec<Value> {
    assert!(text.ends_with("\r\n\r\n"));
    let event = |event: &str| {
        let data = event.strip_prefix("data: ").expect("a data line");
        assert!(!data.contains('\n'));
        serde_json::from_str(data).expect("JSON")
    };
    let all = text.trim_matches(['\r', '\n']).split("\r\n\r\n");
    all.map(event).collect()
}

fn with_text() -> Value {
    let mut body = fox();
    merge(
        &mut body,
        json!({"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}),
    );
    body
}

#[test]
fn the_last_event_contains_the_image_the_finish_reason_and_the_usage() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = call(&server, &customer, "?alt=sse", &with_text()).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = events(&answer.text());
    assert_eq!(events.len(), 2);
    let part = |event: &Value| event["candidates"][0]["content"]["parts"][0].clone();
    assert!(part(&events[0])["text"].is_string());
    assert!(events[0]["candidates"][0].get("finishReason").is_none());
    let data = part(&events[1])["inlineData"]["data"].clone();
    assert_eq!(STANDARD.decode(data.as_str().unwrap()).unwrap(), tiny_png());
    assert_eq!(events[1]["candidates"][0]["finishReason"], "STOP");
    assert!(events[1]["usageMetadata"]["totalTokenCount"].is_u64());
    assert_eq!(events[0]["responseId"], events[1]["responseId"]);
    server.assert_settled();
}

#[test]
fn without_a_text_there_is_one_event() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = call(&server, &customer, "?alt=sse", &fox()).expect(200);
    assert_eq!(events(&answer.text()).len(), 1);
}

#[test]
fn without_alt_it_is_one_json_array() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (body, count) in [(fox(), 1), (with_text(), 2)] {
        let answer = call(&server, &customer, "", &body).expect(200);
        assert!(
            answer
                .header("content-type")
                .unwrap()
                .starts_with("application/json")
        );
        let chunks = answer.json();
        assert_eq!(chunks.as_array().map(Vec::len), Some(count));
        assert_eq!(chunks[count - 1]["candidates"][0]["finishReason"], "STOP");
    }
}

#[test]
fn a_failure_before_anything_was_sent_has_its_status() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .generator
        .behave(Behaviour::Transient("nobody answers"));
    let answer = call(&server, &customer, "?alt=sse", &fox()).send();
    answer.assert_google_error(503, "UNAVAILABLE");
    let answer = call(&server, &customer, "?alt=sse", &json!({})).send();
    answer.assert_google_error(400, "INVALID_ARGUMENT");
    server.generator.behave(Behaviour::Block("violence"));
    let answer = call(&server, &customer, "?alt=sse", &fox()).expect(200);
    let events = events(&answer.text());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["candidates"][0]["finishReason"], "IMAGE_SAFETY");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

/// Takes as long as the interval before the first keep-alive.
#[test]
fn a_slow_stream_sends_keep_alives_and_its_failure_as_its_only_event() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    server.generator.behave(Behaviour::Refuse("not that"));
    let mut wire = crate::support::raw::Wire::open(server.address);
    let request = call(&server, &customer, "?alt=sse", &fox()).header("Connection", "close");
    wire.send(&request.wire());
    until("a sign of life", || wire.peek(KEEP_ALIVE));
    server.generator.release_all();
    let answer = wire.answer_to("POST").expect("an answer");
    assert_eq!(answer.status, 200);
    let events = events(&answer.text());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["error"]["code"], 400);
    assert_eq!(events[0]["error"]["message"], "not that");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

/// Success and a blocked prompt, in the other framing. Both streams wait concurrently.
#[test]
fn a_slow_stream_ends_with_its_image_or_with_a_safety_block() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let open = |target: &str| {
        let mut wire = crate::support::raw::Wire::open(server.address);
        let request = call(&server, &customer, target, &fox()).header("Connection", "close");
        wire.send(&request.wire());
        wire
    };
    let mut array = open("");
    server.until_running(1);
    let mut blocked = open("?alt=sse");
    server.until_running(2);
    until("a sign of life", || array.peek("\r\n\r\n1\r\n "));
    until("a sign of life", || blocked.peek(KEEP_ALIVE));
    server.generator.release_one();
    server.until_live(1);
    server.generator.behave(Behaviour::Block("violence"));
    server.generator.release_all();
    let answer = array.answer_to("POST").expect("an answer");
    assert_eq!(answer.status, 200);
    let chunks = answer.json();
    assert_eq!(chunks.as_array().map(Vec::len), Some(1));
    assert_eq!(chunks[0]["candidates"][0]["finishReason"], "STOP");
    let events = events(&blocked.answer_to("POST").expect("an answer").text());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["candidates"][0]["finishReason"], "IMAGE_SAFETY");
    assert!(events[0]["candidates"][0].get("content").is_none());
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}
