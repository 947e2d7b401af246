//! OpenAI's Responses API: `background`, lookups, cancellation and streams.

use crate::fixture::ResponseAssertions;
use crate::openai_responses::{fox, image_of, respond};
use crate::support::http::Request;
use crate::support::poll::until_some;
use crate::support::raw::Wire;
use crate::support::sample_images::tiny_png;
use crate::support::{Behaviour, Customer, OneNode, Options, Server, fox_with, merge, until};
use serde_json::{Value, json};

const INVALID: &str = "invalid_request_error";
const KEEP_ALIVE: &str = ": keep-alive\n\n";

fn background(extra: Value) -> Value {
    let mut body = json!({"background": true});
    merge(&mut body, extra);
    fox(body)
}

fn lookup(server: &Server, customer: &Customer, response: &Value) -> Request {
    let id = response["id"].as_str().expect("an id");
    let call = server.get(&format!("/v1/responses/{id}"));
    call.bearer(&customer.key)
}

fn cancel(server: &Server, customer: &Customer, response: &Value) -> Value {
    let id = response["id"].as_str().expect("an id");
    let call = server.post(&format!("/v1/responses/{id}/cancel"));
    call.bearer(&customer.key).expect(200).json()
}

/// The response once it has this status.
fn once(server: &Server, customer: &Customer, response: &Value, status: &str) -> Value {
    until_some(status, || {
        let found = lookup(server, customer, response).expect(200).json();
        (found["status"] == status).then_some(found)
    })
}

#[test]
fn a_background_response_is_queued_and_then_has_its_image() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let metadata = json!({"order": "7"});
    let body = background(json!({"metadata": metadata}));
    let first = respond(&server, &customer, &body).expect(200).json();
    server.until_running(1);
    let second = respond(&server, &customer, &body).expect(200).json();
    for (name, value) in [
        ("status", json!("queued")),
        ("background", json!(true)),
        ("output", json!([])),
        ("usage", Value::Null),
        ("metadata", metadata),
    ] {
        assert_eq!(second[name], value, "{name}");
    }
    let running = once(&server, &customer, &first, "in_progress");
    let item = &running["output"][0];
    assert_eq!(item["status"], "generating");
    assert_eq!(item["result"], Value::Null);
    assert_eq!(once(&server, &customer, &second, "queued"), second);
    server.generator.release_all();
    let done = once(&server, &customer, &second, "completed");
    assert_eq!(image_of(&done), tiny_png());
    for name in ["id", "created_at", "metadata", "model", "tools"] {
        assert_eq!(done[name], second[name], "{name}");
    }
    once(&server, &customer, &first, "completed");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_background_response_survives_its_caller_and_a_restart() {
    let server = Server::with(Options::new().slots(1).on_disk());
    let customer = server.customer("1.00");
    server.generator.hold();
    let with_options = |extra: Value| {
        let mut tool = json!({"type": "image_generation", "output_format": "webp"});
        merge(&mut tool, extra);
        background(json!({"tools": [tool]}))
    };
    let running = respond(&server, &customer, &with_options(json!({})));
    let running = running.expect(200).json();
    server.until_running(1);
    let mut wire = Wire::open(server.address);
    let call = respond(
        &server,
        &customer,
        &with_options(json!({"background": "opaque"})),
    );
    wire.send(&call.wire());
    let queued = wire.answer_to("POST").expect("an answer").json();
    drop(wire);
    let server = server.restart();
    server.generator.release_all();
    once(&server, &customer, &running, "completed");
    let done = once(&server, &customer, &queued, "completed");
    assert_eq!(done["output"][0]["output_format"], "webp");
    assert_eq!(done["tools"][0]["background"], "opaque");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_queued_response_can_be_canceled_and_others_stay_as_they_are() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let running = respond(&server, &customer, &background(json!({})))
        .expect(200)
        .json();
    server.until_running(1);
    let queued = respond(&server, &customer, &background(json!({})))
        .expect(200)
        .json();
    for _ in 0..2 {
        let canceled = cancel(&server, &customer, &queued);
        assert_eq!(canceled["status"], "cancelled");
        assert_eq!(canceled["error"], Value::Null);
        assert_eq!(canceled["output"], json!([]));
    }
    assert_eq!(
        cancel(&server, &customer, &running)["status"],
        "in_progress"
    );
    server.generator.release_all();
    once(&server, &customer, &running, "completed");
    assert_eq!(image_of(&cancel(&server, &customer, &running)), tiny_png());
    once(&server, &customer, &queued, "cancelled");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_failed_response_says_why_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Block("violence"));
    let blocked = respond(&server, &customer, &background(json!({})))
        .expect(200)
        .json();
    let blocked = once(&server, &customer, &blocked, "failed");
    assert_eq!(blocked["error"]["code"], "image_content_policy_violation");
    let item = &blocked["output"][0];
    assert_eq!(
        (&item["status"], &item["result"]),
        (&json!("failed"), &Value::Null)
    );
    assert_eq!(item["error"]["code"], "moderation_blocked");
    assert_eq!(item["error"]["message"], "blocked for safety: violence");
    server
        .generator
        .behave(Behaviour::Transient("connection refused"));
    let failed = respond(&server, &customer, &background(json!({})))
        .expect(200)
        .json();
    let failed = once(&server, &customer, &failed, "failed");
    assert_eq!(failed["error"]["code"], "server_error");
    assert_eq!(failed["output"], json!([]));
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

#[test]
fn a_response_is_found_by_its_account_only() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    let response = respond(&server, &customer, &fox(json!({})))
        .expect(200)
        .json();
    let found = lookup(&server, &customer, &response).expect(200).json();
    assert_eq!(found, response);
    let job = json!({"id": format!("resp_{}", server.create(&customer))});
    assert_eq!(once(&server, &customer, &job, "completed")["model"], "pro");
    let unknown = json!({"id": "resp_01890000-0000-7000-8000-000000000000"});
    let bare = json!({"id": server.create(&other)});
    for id in [&response, &unknown, &bare] {
        let call = lookup(&server, &other, id);
        let said = call.send().assert_openai_error(404, INVALID, None);
        assert!(said.contains("not found"), "{said}");
        let cancel = server.post(&format!("{}/cancel", call.target()));
        let answer = cancel.bearer(&other.key).send();
        answer.assert_openai_error(404, INVALID, None);
    }
}

#[test]
fn metadata_with_names_of_the_response_stays_metadata() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let metadata = json!({"output": null});
    let body = fox_with(json!({"metadata": metadata}));
    let job = server.generation(&customer, "/text-generations", &body);
    let job = job.expect(202).job_id();
    let response = json!({"id": format!("resp_{job}")});
    let response = once(&server, &customer, &response, "completed");
    assert_eq!(response["metadata"], metadata);
    image_of(&response);
}

#[test]
fn other_calls_of_the_api_are_refused_with_advice() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let response = respond(&server, &customer, &fox(json!({})))
        .expect(200)
        .json();
    let path = lookup(&server, &customer, &response).target().to_owned();
    let unknown = Some("unknown_url");
    for (method, path, code, status, advice) in [
        ("DELETE", path.clone(), unknown, 404, "/image"),
        (
            "GET",
            format!("{path}/input_items"),
            unknown,
            404,
            "/api/v1/jobs",
        ),
        (
            "GET",
            format!("{path}?stream=true"),
            Some("invalid_value"),
            400,
            "completed",
        ),
        (
            "POST",
            "/v1/responses/compact".into(),
            unknown,
            404,
            "/v1/responses",
        ),
        (
            "POST",
            "/v1/responses/input_tokens".into(),
            unknown,
            404,
            "/v1/responses",
        ),
        (
            "POST",
            "/v1/responses/compact/x".into(),
            unknown,
            404,
            "/v1/responses",
        ),
        (
            "GET",
            "/v1/responses".into(),
            Some("method_not_supported"),
            405,
            "POST",
        ),
    ] {
        let answer = server.call(method, &path).bearer(&customer.key).send();
        let said = answer.assert_openai_error(status, INVALID, code);
        assert!(said.contains(advice), "{said}");
    }
    let job = server.native(&customer, "GET", "/jobs").expect(200).json();
    let job = job["data"][0]["job_id"].as_str().unwrap().to_owned();
    let deletion = server.native(&customer, "DELETE", &format!("/jobs/{job}/image"));
    deletion.expect(204);
    let answer = lookup(&server, &customer, &response).send();
    answer.assert_openai_error(404, INVALID, None);
}

#[test]
fn a_retry_of_a_background_call_gets_the_same_job() {
    let server = Server::with(Options::new().one_node(OneNode::Repeats).slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = respond(&server, &customer, &background(json!({})));
    let attempt = |number: &str| {
        let call = call.clone();
        call.header("x-stainless-retry-count", number).expect(200)
    };
    let first = attempt("0").json();
    for number in ["1", "2"] {
        let again = attempt(number);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.json()["id"], first["id"]);
    }
    assert_ne!(attempt("0").json()["id"], first["id"]);
    let keyed = call.clone().idempotent("k");
    let first = keyed.expect(200).json();
    server.generator.release_all();
    once(&server, &customer, &first, "completed");
    let again = keyed.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(image_of(&again.json()), tiny_png());
    server.assert_money(&customer, "0.883", "0.00", "0.883");
    server.assert_settled();
}

#[test]
fn a_background_response_sends_no_webhook_and_is_paid_when_it_is_done() {
    let server = Server::start();
    let customer = server.customer("0.05");
    server.generator.hold();
    let body = background(json!({}));
    let first = respond(&server, &customer, &body).expect(200).json();
    server.assert_money(&customer, "0.05", "0.039", "0.011");
    let refused = respond(&server, &customer, &body).send();
    let quota = "insufficient_quota";
    refused.assert_openai_error(429, quota, Some(quota));
    server.generator.release_all();
    once(&server, &customer, &first, "completed");
    server.assert_money(&customer, "0.011", "0.00", "0.011");
    server.assert_settled();
}

/// The events of a stream. Comments are left out.
#[track_caller]
fn events(text: &str) -> Vec<Value> {
    assert!(text.ends_with("\n\n"));
    let event = |(number, block): (usize, &str)| {
        let (name, data) = block.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        let event: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(name, format!("event: {}", event["type"].as_str().unwrap()));
        assert_eq!(event["sequence_number"], number);
        event
    };
    let blocks = text.trim_end().split("\n\n");
    let blocks = blocks.filter(|block| !block.starts_with(':'));
    blocks.enumerate().map(event).collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect()
}

const BEFORE: [&str; 5] = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.image_generation_call.in_progress",
    "response.image_generation_call.generating",
];
const AFTER: [&str; 3] = [
    "response.image_generation_call.completed",
    "response.output_item.done",
    "response.completed",
];

#[test]
fn a_stream_has_the_events_of_the_api() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox(json!({"stream": true, "metadata": {"a": "1"}}));
    let answer = respond(&server, &customer, &body).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events = events(&answer.text());
    assert_eq!(types(&events), [&BEFORE[..], &AFTER].concat());
    let (created, item, completed) = (&events[0], &events[6], &events[7]["response"]);
    assert_eq!(created["response"]["status"], "in_progress");
    assert_eq!(created["response"]["id"], completed["id"]);
    assert_eq!(item["output_index"], 0);
    assert_eq!(item["item"], completed["output"][0]);
    for event in &events[3..6] {
        assert_eq!(event["item_id"], item["item"]["id"]);
    }
    assert_eq!(image_of(completed), tiny_png());
    let found = lookup(&server, &customer, completed).expect(200).json();
    assert_eq!(found, *completed);
    server.generator.behave(Behaviour::Block("violence"));
    let answer = respond(&server, &customer, &body).send();
    let blocked = Some("moderation_blocked");
    answer.assert_openai_error(400, "image_generation_user_error", blocked);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

/// Takes as long as the interval before the first keep-alive. Two streams wait concurrently: one gets its image, one fails.
#[test]
fn a_slow_stream_begins_before_its_outcome() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let open = |prompt: &str, runs: usize| {
        let mut wire = Wire::open(server.address);
        let body = fox(json!({"stream": true, "input": prompt}));
        let call = respond(&server, &customer, &body);
        wire.send(&call.header("Connection", "close").wire());
        server.until_running(runs);
        wire
    };
    let (mut image, mut failing) = (open("a fox", 1), open("an owl", 2));
    for wire in [&mut image, &mut failing] {
        until("a sign of life", || wire.peek(KEEP_ALIVE));
    }
    server.generator.release_one();
    server.until_live(1);
    server.generator.behave(Behaviour::Block("violence"));
    server.generator.release_all();
    let answer = image.answer_to("POST").expect("an answer").text();
    let events_of_image = events(&answer);
    assert_eq!(types(&events_of_image), [&BEFORE[..], &AFTER].concat());
    let answer = failing.answer_to("POST").expect("an answer").text();
    let events_of_failure = events(&answer);
    let expected = [&BEFORE[..], &["response.failed"]].concat();
    assert_eq!(types(&events_of_failure), expected);
    let response = &events_of_failure[5]["response"];
    assert_eq!(response["status"], "failed");
    assert_eq!(response["output"][0]["error"]["code"], "moderation_blocked");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}
