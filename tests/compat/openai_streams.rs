//! `stream` of OpenAI's image generations and edits.

use crate::fixture::ResponseAssertions;
use crate::openai_edits;
use crate::support::raw::Wire;
use crate::support::sample_images::{self, tiny_png};
use crate::support::{Behaviour, Options, Server, merge, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const KEEP_ALIVE: &str = ": keep-alive\n\n";

fn fox(extra: Value) -> Value {
    let mut body = json!({"model": "pro", "prompt": "a red fox", "stream": true});
    merge(&mut body, extra);
    body
}

/// The events of a stream, with their names. Comments are left out.
#[track_caller]
fn events(text: &str) -> Vec<(String, Value)> {
    assert!(text.ends_with("\n\n"));
    let event = |block: &str| {
        let (name, data) = block.split_once('\n').expect("two lines");
        let name = name.strip_prefix("event: ").expect("a name");
        let data = data.strip_prefix("data: ").expect("data");
        assert!(!data.contains('\n'));
        (name.to_owned(), serde_json::from_str(data).expect("JSON"))
    };
    let blocks = text.trim_end().split("\n\n");
    blocks
        .filter(|block| !block.starts_with(':'))
        .map(event)
        .collect()
}

/// Checks the only event of a stream, and returns it.
#[track_caller]
fn completed(text: &str, name: &str) -> Value {
    let mut events = events(text);
    assert_eq!(events.len(), 1);
    let (named, event) = events.remove(0);
    assert_eq!(named, name);
    assert_eq!(event["type"], name);
    let image = STANDARD.decode(event["b64_json"].as_str().unwrap());
    assert_eq!(image.unwrap(), tiny_png());
    assert_eq!(event["background"], "opaque");
    assert_eq!(event["output_format"], "png");
    assert_eq!(event["size"], "1x1");
    let usage = &event["usage"];
    let of = |name: &str| usage[name].as_u64().expect(name);
    assert_eq!(of("input_tokens") + of("output_tokens"), of("total_tokens"));
    assert!(usage["input_tokens_details"]["text_tokens"].is_u64());
    assert!(usage["input_tokens_details"]["image_tokens"].is_u64());
    event
}

#[test]
fn a_generation_is_one_event_with_the_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for partial_images in 0..=3 {
        let body = fox(json!({"partial_images": partial_images}));
        let answer = server.openai(&customer, &body).expect(200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let event = completed(&answer.text(), "image_generation.completed");
        assert_eq!(event["created_at"], server.clock.seconds());
        assert_eq!(event["quality"], "auto");
    }
    let body = fox(json!({"quality": "high"}));
    let answer = server.openai(&customer, &body).expect(200);
    let event = completed(&answer.text(), "image_generation.completed");
    assert_eq!(event["quality"], "high");
    server.assert_settled();
}

#[test]
fn an_edit_is_one_event_with_the_image() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let texts = [("prompt", "make it blue"), ("model", "fast")];
    let texts = [&texts[..], &[("stream", "true"), ("partial_images", "2")]].concat();
    let body = openai_edits::form(&texts, &[("image", &sample_images::png(9, 9))]);
    let call = openai_edits::call(&server, &customer, &body);
    let event = completed(&call.expect(200).text(), "image_edit.completed");
    assert!(event["usage"]["input_tokens_details"]["image_tokens"].as_u64() > Some(0));
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_stream_has_the_requested_format() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox(json!({"output_format": "webp"}));
    let answer = server.openai(&customer, &body).expect(200);
    let (_, event) = events(&answer.text()).remove(0);
    assert_eq!(event["output_format"], "webp");
    let image = STANDARD.decode(event["b64_json"].as_str().unwrap());
    assert_eq!(&image.unwrap()[8..12], b"WEBP");
}

#[test]
fn options_that_a_stream_cannot_have_are_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (extra, field) in [
        (json!({"n": 2}), "n"),
        (json!({"response_format": "url"}), "response_format"),
        (json!({"partial_images": 4}), "partial_images"),
        (json!({"partial_images": -1}), "partial_images"),
        (json!({"stream": "yes"}), "stream"),
    ] {
        let answer = server.openai(&customer, &fox(extra)).send();
        answer.assert_openai_field(field);
    }
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn a_failure_before_anything_was_sent_has_its_status() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.openai(&customer, &fox(json!({})));
    server
        .generator
        .behave(Behaviour::Transient("connection refused"));
    let answer = call.send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    server.generator.behave(Behaviour::Block("violence"));
    let answer = call.send();
    answer.assert_openai_error(
        400,
        "image_generation_user_error",
        Some("moderation_blocked"),
    );
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn a_repeat_gets_the_image_of_the_first_call_as_a_stream_or_not() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.openai(&customer, &fox(json!({}))).idempotent("k");
    call.expect(200);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    completed(&again.text(), "image_generation.completed");
    let plain = fox(json!({"stream": false}));
    let plain = server.openai(&customer, &plain).idempotent("k").expect(200);
    assert_eq!(plain.header("idempotent-replayed"), Some("true"));
    assert!(plain.json()["data"][0]["b64_json"].is_string());
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
}

#[test]
fn a_disconnect_before_the_job_starts_cancels_it() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = server.openai(&customer, &fox(json!({})));
    let first = server.in_background(call.clone());
    server.until_running(1);
    let mut wire = Wire::open(server.address);
    wire.send(&call.wire());
    server.until_live(2);
    drop(wire);
    server.until_live(1);
    server.generator.release_all();
    assert_eq!(first.join().unwrap().status, 200);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}

/// Takes as long as the interval before the first keep-alive. Three streams wait concurrently: one gets its image, one fails, one
/// disconnects and gets its image when it repeats the request.
#[test]
fn a_slow_stream_sends_comments_and_then_its_image_or_an_error() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let open = |prompt: &str, runs: usize| {
        let mut wire = Wire::open(server.address);
        let request = server.openai(&customer, &fox(json!({"prompt": prompt})));
        wire.send(&request.header("Connection", "close").wire());
        server.until_running(runs);
        wire
    };
    let mut image = open("a fox", 1);
    let mut gone = open("an owl", 2);
    let mut failing = open("a bear", 3);
    for wire in [&mut image, &mut gone, &mut failing] {
        until("a sign of life", || wire.peek(KEEP_ALIVE));
    }
    drop(gone);
    server.generator.release_one();
    server.until_live(2);
    server.generator.release_one();
    server.until_live(1);
    server.generator.behave(Behaviour::Block("violence"));
    server.generator.release_all();
    let answer = image.answer_to("POST").expect("an answer");
    assert_eq!(answer.status, 200);
    assert!(answer.text().starts_with(KEEP_ALIVE));
    completed(&answer.text(), "image_generation.completed");
    let answer = failing.answer_to("POST").expect("an answer");
    let (name, event) = events(&answer.text()).remove(0);
    assert_eq!((name.as_str(), &event["type"]), ("error", &json!("error")));
    assert_eq!(event["error"]["code"], "moderation_blocked");
    assert_eq!(event["error"]["message"], "blocked for safety: violence");
    let repeated = server.openai(&customer, &fox(json!({"prompt": "an owl"})));
    let repeated = repeated.expect(200);
    assert_eq!(repeated.header("idempotent-replayed"), Some("true"));
    completed(&repeated.text(), "image_generation.completed");
    assert_eq!(server.generator.runs(), 3);
    server.assert_money(&customer, "0.732", "0.00", "0.732");
    server.assert_settled();
}
