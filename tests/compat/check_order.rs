//! The order of checks in the synchronous APIs: a request that fails two neighbours gets the earlier error.

use crate::fixture::{ResponseAssertions, asking, fox};
use crate::support::Server;
use serde_json::json;

#[test]
fn the_checks_of_gemini_keep_their_order() {
    let server = Server::start();
    let poor = server.customer("0.00");
    let scoped = server.customer_with("0.00", json!({"models": ["fast"]}));
    let call = server.gemini(&scoped, "pro", &fox()).idempotent("a b");
    call.send().assert_google_error(403, "PERMISSION_DENIED");
    server.pause(&["fast"]);
    let call = server.gemini(&scoped, "fast", &fox()).idempotent("a b");
    call.send().assert_google_error(400, "INVALID_ARGUMENT");
    let call = server.gemini(&poor, "fast", &asking(""));
    call.send().assert_google_error(503, "UNAVAILABLE");
    server.pause(&[]);
    // The body is not read before.
    call.send().assert_google_error(429, "RESOURCE_EXHAUSTED");
    let busy = server.customer_with("1.00", json!({"max_concurrent": 1}));
    server.generator.hold();
    let first = server.gemini(&busy, "fast", &fox()).idempotent("k");
    let running = server.in_background(first.clone());
    server.until_running(1);
    let call = server.gemini(&busy, "fast", &asking(""));
    call.send().assert_google_error(400, "INVALID_ARGUMENT");
    let call = server.gemini(&busy, "fast", &asking("an owl"));
    let call = call.idempotent("k");
    call.send().assert_google_error(400, "INVALID_ARGUMENT");
    let call = server.gemini(&busy, "fast", &asking("an owl"));
    call.send().assert_google_error(429, "RESOURCE_EXHAUSTED");
    let replay = server.in_background(first);
    server.generator.release_all();
    for call in [running, replay] {
        call.join().unwrap().image();
    }
    server.assert_settled();
}

#[test]
fn the_checks_of_openai_generations_keep_their_order() {
    let server = Server::start();
    let poor = server.customer("0.00");
    let scoped = server.customer_with("0.00", json!({"models": ["fast"]}));
    let invalid = "invalid_request_error";
    let body = json!({"model": "pro", "prompt": ""});
    let call = server.openai(&scoped, &body);
    let header = call.clone().idempotent("a b").send();
    header.assert_openai_error(400, invalid, Some("invalid_value"));
    assert_eq!(call.send().status, 403);
    let unknown = json!({"model": "nothing", "prompt": ""});
    server.openai(&poor, &unknown).expect(404);
    server.pause(&["fast"]);
    let body = json!({"model": "fast", "prompt": ""});
    server.openai(&poor, &body).expect(400);
    let body = json!({"model": "fast", "prompt": "a fox", "n": 2});
    server.openai(&poor, &body).expect(503);
    server.pause(&[]);
    let quota = ("insufficient_quota", Some("insufficient_quota"));
    let answer = server.openai(&poor, &body).send();
    answer.assert_openai_error(429, quota.0, quota.1);
    // The balance must cover all images, and the key must be allowed to have as many live jobs.
    let almost = server.customer_with("0.077", json!({"max_concurrent": 2}));
    let answer = server.openai(&almost, &body).send();
    answer.assert_openai_error(429, quota.0, quota.1);
    let busy = server.customer_with("0.00", json!({"max_concurrent": 1}));
    let error = server.openai(&busy, &body).expect(429).json();
    assert_ne!(error["error"]["code"], json!(quota.1), "{error}");
    assert_eq!(server.generator.runs(), 0);
}
