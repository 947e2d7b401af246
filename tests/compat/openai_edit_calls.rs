//! `POST /v1/images/edits`: the checks of every request.

use crate::fixture::ResponseAssertions;
use crate::openai_edits::{call, form};
use crate::support::raw::Wire;
use crate::support::{Answer, Behaviour, Customer, OneNode, Options, Server, sample_images, until};
use serde_json::json;

const INVALID: &str = "invalid_request_error";

fn blue(model: &str) -> Vec<u8> {
    let texts = [("prompt", "make it blue"), ("model", model)];
    form(&texts, &[("image", &sample_images::png(9, 9))])
}

fn assert_nothing_left(server: &Server) {
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|key| key.starts_with("inputs"))
    });
}

#[test]
fn a_repeat_gets_the_same_image_and_is_charged_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let named = |body: &[u8]| call(&server, &customer, body).idempotent("k");
    let first = named(&blue("fast")).expect(200);
    let again = named(&blue("fast")).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["data"], first.json()["data"]);
    server.pause(&["project"]);
    named(&blue("fast")).expect(200);
    let said = named(&blue("pro")).send();
    let said = said.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    assert!(said.contains("Idempotency-Key"), "{said}");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server
        .generator
        .behave(Behaviour::Transient("connection refused"));
    server.pause(&[]);
    let other = call(&server, &customer, &blue("fast")).idempotent("other");
    other.expect(503);
    server.generator.behave(Behaviour::Succeed);
    other.expect(200);
    assert_nothing_left(&server);
    server.assert_settled();
}

#[test]
fn the_api_key_is_checked_before_the_idempotency_key() {
    let server = Server::start();
    let stranger = server.post("/v1/images/edits").bearer("bad");
    let stranger = stranger.idempotent("a b").send();
    stranger.assert_openai_error(401, INVALID, Some("invalid_api_key"));
    let customer = server.customer("1.00");
    let bad = call(&server, &customer, &blue("fast")).idempotent("a b");
    let said = bad.send().assert_openai_field("Idempotency-Key");
    assert!(said.starts_with("Idempotency-Key"), "{said}");
}

#[test]
fn scope_pause_rate_and_balance_are_checked() {
    let server = Server::with(Options::new().one_node(OneNode::Rates));
    let scoped = server.customer_with("1.00", json!({"models": ["fast"]}));
    let answer = call(&server, &scoped, &blue("pro")).send();
    answer.assert_openai_error(403, INVALID, Some("model_not_allowed"));
    let poor = server.customer("0.05");
    let answer = call(&server, &poor, &blue("pro")).send();
    answer.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    let customer = server.customer("1.00");
    server.pause(&["fast"]);
    let answer = call(&server, &customer, &blue("fast")).send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    let answer = call(&server, &scoped, &blue("fast")).send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    call(&server, &customer, &blue("pro")).expect(200);
    let shape = json!({"rate_limit": {"per_second": 1, "burst": 1}});
    let hasty = server.customer_with("1.00", shape);
    server.native(&hasty, "GET", "/balance").expect(200);
    let answer = call(&server, &hasty, &blue("pro")).send();
    answer.assert_openai_error(429, "requests", Some("rate_limit_exceeded"));
    assert_eq!(server.generator.runs(), 1);
    assert_nothing_left(&server);
}

#[test]
fn a_disconnect_before_the_job_starts_cancels_it() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(call(&server, &customer, &blue("fast")));
    server.until_running(1);
    let mut wire = Wire::open(server.address);
    wire.send(&call(&server, &customer, &blue("fast")).wire());
    server.until_live(2);
    drop(wire);
    server.until_live(1);
    server.generator.release_all();
    assert_eq!(first.join().unwrap().status, 200);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    assert_nothing_left(&server);
}

fn send_texts(server: &Server, customer: &Customer, texts: &[(&str, &str)]) -> Answer {
    let body = form(texts, &[("image", &sample_images::png(9, 9))]);
    call(server, customer, &body).send()
}

#[test]
fn a_repeated_field_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for name in ["prompt", "model", "size"] {
        let texts = [("prompt", "a"), (name, "fast"), (name, "pro")];
        let said = send_texts(&server, &customer, &texts).assert_openai_field(name);
        assert!(said.contains("given twice"), "{said}");
    }
    assert_eq!(server.generator.runs(), 0);
}

/// Each part needs memory, so all parts together are limited, even unknown ones.
#[test]
fn many_tiny_parts_are_bounded() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let names: Vec<String> = (0..20_000).map(|number| format!("x{number}")).collect();
    let mut texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    texts.push(("prompt", "a"));
    let answer = send_texts(&server, &customer, &texts);
    let said = answer.assert_openai_error(400, INVALID, None);
    assert!(said.contains("too much text"), "{said}");
    let long = "x".repeat(300_000);
    let answer = send_texts(
        &server,
        &customer,
        &[(&long, ""), (&long, ""), (&long, ""), (&long, "")],
    );
    let said = answer.assert_openai_error(400, INVALID, None);
    assert!(
        said.contains("too much text") || said.contains("is not a valid form"),
        "{said}"
    );
    texts.drain(..15_000);
    let body = form(&texts, &[("image", &sample_images::png(9, 9))]);
    call(&server, &customer, &body).expect(200);
    assert_nothing_left(&server);
}

/// The parser skips the preamble before the first part, but the server counts it.
#[test]
fn a_preamble_of_200_mb_is_refused() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let head = format!(
        "POST /v1/images/edits HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
         Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n",
        customer.key
    );
    let mut wire = Wire::open(server.address);
    wire.send(head.as_bytes());
    let line = format!("{}\r\n", "x".repeat(998)).repeat(1_000);
    let piece = format!("{:x}\r\n{line}\r\n", line.len());
    (0..201).for_each(|_| wire.send(piece.as_bytes()));
    let body = blue("fast");
    wire.send(format!("{:x}\r\n", body.len()).as_bytes());
    wire.send(&body);
    wire.send(b"\r\n0\r\n\r\n");
    let answer = wire.answer_to("POST").expect("an answer");
    let said = answer.assert_openai_error(400, INVALID, None);
    assert!(said.contains("200000000"), "{said}");
    assert_eq!(server.generator.runs(), 0);
}
