//! Requests that are refused before a large body is sent.

use crate::fixture::{ResponseAssertions, fox, with_image};
use crate::support::raw::Wire;
use crate::support::{Answer, Customer, OneNode, Options, Server, sample_images};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use serde_json::json;
use std::thread;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use uuid::Uuid;

/// The response to the headers of a request with 100 MB, before any of the body is sent.
fn announced(server: &Server, customer: &Customer, path: &str, headers: &str) -> Answer {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n{headers}\
         Content-Length: 100000000\r\n\r\n",
        customer.key
    );
    let mut wire = Wire::open(server.address);
    wire.send(head.as_bytes());
    wire.answer_to("POST").expect("an answer")
}

/// Concurrent, because each request waits until the server has stopped draining the body.
#[test]
fn a_request_that_cannot_start_a_job_is_refused_before_its_body_is_sent() {
    const GENERATE: &str = "/v1beta/models/fast:generateContent";
    const COUNT: &str = "/v1beta/models/fast:countTokens";
    const EDITS: &str = "/v1/images/edits";
    const FORM: &str = "Content-Type: multipart/form-data; boundary=b\r\n";
    let server = Server::with(Options::new().one_node(OneNode::Rates));
    let named = format!("{FORM}Idempotency-Key: never-used\r\n");
    let poor = server.customer("0.01");
    let shape = json!({"rate_limit": {"per_second": 1, "burst": 1}, "models": ["fast"]});
    let hasty = server.customer_with("1.00", shape);
    server.native(&hasty, "GET", "/balance").expect(200);
    thread::scope(|scope| {
        for (customer, path, headers, status) in [
            (&poor, GENERATE, "Idempotency-Key: never-used\r\n", 429),
            (&poor, EDITS, FORM, 429),
            (&poor, EDITS, named.as_str(), 429),
            (&hasty, COUNT, "", 429),
            (&hasty, EDITS, FORM, 429),
        ] {
            let server = &server;
            scope.spawn(move || {
                let answer = announced(server, customer, path, headers);
                assert_eq!(answer.status, status, "{path}: {}", answer.text());
            });
        }
    });
    server.pause(&["fast"]);
    let scoped = server.customer_with("1.00", json!({"models": ["fast"]}));
    thread::scope(|scope| {
        for (path, headers) in [(GENERATE, "Idempotency-Key: never-used\r\n"), (EDITS, FORM)] {
            let (server, scoped) = (&server, &scoped);
            scope.spawn(move || {
                let answer = announced(server, scoped, path, headers);
                assert_eq!(answer.status, 503, "{path}: {}", answer.text());
            });
        }
    });
}

#[test]
fn large_bodies_without_memory_are_rejected_with_retry_after() {
    let options = Options::new().one_node(OneNode::Memory);
    let server = Server::with(options.set("inputs.timeout_seconds", 1));
    let customer = server.customer("1.00");
    let large = with_image(&STANDARD.encode(sample_images::heavy_png(2_000_000)));
    let memory = &server.instance().generations.inputs.memory;
    let mut places = Vec::new();
    // One account may not reserve all of the memory.
    for account in [1, 2].map(|it| AccountId(Uuid::from_u128(it))) {
        let memory = memory.of(account, Duration::ZERO);
        while let Some(place) = memory.reserve(None).now_or_never() {
            places.push(place);
        }
    }
    let answer = server.gemini(&customer, "fast", &large).send();
    let said = answer.assert_google_error(503, "UNAVAILABLE");
    assert!(said.contains("too many large requests"), "{said}");
    assert_eq!(answer.header("retry-after"), Some("5"));
    server.gemini(&customer, "fast", &fox()).expect(200);
    drop(places);
    server.gemini(&customer, "fast", &large).expect(200);
    server.assert_money(&customer, "0.922", "0.00", "0.922");
}
