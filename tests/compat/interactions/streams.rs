//! Interactions with `stream`.

use super::{create, get, id_of, output_image, with};
use crate::support::raw::Wire;
use crate::support::sample_images::tiny_png;
use crate::support::{Answer, Behaviour, Server, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::mem;

/// The names and the data of the events of a stream.
#[track_caller]
pub fn events_of(answer: &Answer) -> Vec<(String, Value)> {
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = answer.text();
    let all = text
        .split_terminator("\n\n")
        .filter(|it| !it.ends_with(": keep-alive"));
    let mut events: Vec<(String, Value)> = Vec::new();
    for event in all {
        let (name, data) = event.split_once("\ndata: ").expect("a name and data");
        let name = name.strip_prefix("event: ").expect("a name");
        let data = match data {
            "[DONE]" => Value::Null,
            data => serde_json::from_str(data).expect("JSON"),
        };
        assert!(data.is_null() || data["event_type"] == name, "{data}");
        events.push((name.to_owned(), data));
    }
    events
}

#[test]
fn a_stream_has_the_events_of_the_sdks_and_the_image_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = with(json!({"stream": true, "response_modalities": ["text", "image"]}));
    let answer = create(&server, &customer, &body).expect(200);
    let mut events = events_of(&answer);
    let names: Vec<String> = events.iter_mut().map(|it| mem::take(&mut it.0)).collect();
    let begin = [
        "interaction.created",
        "interaction.status_update",
        "step.start",
    ];
    let content = ["step.delta", "step.delta", "step.stop"];
    let end = ["interaction.completed", "done"];
    assert_eq!(names, [&begin[..], &content, &end].concat());
    assert_eq!(events[0].1["interaction"]["status"], "in_progress");
    assert_eq!(events[2].1["step"]["type"], "model_output");
    assert!(events[3].1["delta"]["text"].is_string());
    let image = &events[4].1["delta"];
    assert_eq!(
        (&image["type"], &image["mime_type"]),
        (&json!("image"), &json!("image/png"))
    );
    assert_eq!(
        STANDARD.decode(image["data"].as_str().unwrap()).unwrap(),
        tiny_png()
    );
    let ended = &events[6].1["interaction"];
    assert_eq!(ended["status"], "completed");
    assert!(ended["usage"]["total_tokens"].is_u64());
    let id = id_of(ended);
    assert_eq!(output_image(&get(&server, &customer, &id)), tiny_png());
    server.generator.behave(Behaviour::Block("violence"));
    let answer = create(&server, &customer, &body).expect(200);
    let events = events_of(&answer);
    assert_eq!(events[2].1["error"]["code"], "IMAGE_SAFETY");
    assert_eq!(events[3].1["interaction"]["status"], "failed");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

/// Takes as long as the interval before the first keep-alive.
#[test]
fn a_slow_stream_sends_keep_alives_and_then_its_failure() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    server.generator.behave(Behaviour::Refuse("not that"));
    let mut wire = Wire::open(server.address);
    let body = with(json!({"stream": true}));
    let request = create(&server, &customer, &body).header("Connection", "close");
    wire.send(&request.wire());
    until("a sign of life", || wire.peek(": keep-alive"));
    server.generator.release_all();
    let answer = wire.answer_to("POST").expect("an answer");
    let events = events_of(&answer);
    let names: Vec<&str> = events.iter().map(|it| it.0.as_str()).collect();
    let begin = ["interaction.created", "interaction.status_update"];
    assert_eq!(names, [&begin[..], &["error", "done"]].concat());
    let error = json!({"code": "INVALID_ARGUMENT", "message": "not that"});
    assert_eq!(events[2].1["error"], error);
    // A caller whose stream breaks knows what to look up.
    let id = id_of(&events[0].1["interaction"]);
    assert_eq!(get(&server, &customer, &id)["status"], "failed");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}
