//! Rate limits of a key in the synchronous APIs.

use crate::fixture::fox;
use crate::support::{Answer, Customer, OneNode, Server, options::Options};
use serde_json::json;

fn limited(server: &Server) -> Customer {
    let shape = json!({"rate_limit": {"per_second": 1, "burst": 1}});
    let customer = server.customer_with("10.00", shape);
    server.native(&customer, "GET", "/balance").expect(200);
    customer
}

fn one_node() -> Server {
    Server::with(Options::new().one_node(OneNode::Rates))
}

fn assert_rate_limited(answer: &Answer) {
    assert_eq!(answer.header("ratelimit-policy"), Some("\"key\";q=1;w=1"));
    assert_eq!(answer.header("ratelimit"), Some("\"key\";r=0;t=1"));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

#[test]
fn a_call_beyond_the_rate_limit_is_resource_exhausted() {
    let server = one_node();
    let customer = limited(&server);
    let answer = server
        .gemini(&customer, "gemini-2.5-flash-image", &fox())
        .expect(429);
    assert_rate_limited(&answer);
    assert_eq!(answer.json()["error"]["status"], "RESOURCE_EXHAUSTED");
    for path in ["/v1beta/models", "/v1beta/models/gemini-2.5-flash-image"] {
        let answer = server
            .get(path)
            .header("x-goog-api-key", &customer.key)
            .expect(429);
        assert_rate_limited(&answer);
    }
    let count = server.post("/v1beta/models/pro:countTokens").json(&fox());
    assert_rate_limited(&count.header("x-goog-api-key", &customer.key).expect(429));
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn a_call_beyond_the_rate_limit_is_rate_limit_exceeded() {
    let server = one_node();
    let customer = limited(&server);
    let body = json!({"model": "pro", "prompt": "a red fox"});
    let answer = server.openai(&customer, &body).expect(429);
    assert_rate_limited(&answer);
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("requests"), &json!("rate_limit_exceeded"))
    );
    let answer = server.get("/v1/models").bearer(&customer.key).expect(429);
    assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn responses_contain_the_rate_limit_of_the_key() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::Rates)
            .set("limits.requests_per_second", 5),
    );
    let customer = server.customer("10.00");
    let answer = server
        .gemini(&customer, "gemini-2.5-flash-image", &fox())
        .expect(200);
    assert_eq!(answer.header("ratelimit"), Some("\"key\";r=4;t=1"));
    let body = json!({"model": "pro", "prompt": "a red fox"});
    let answer = server.openai(&customer, &body).expect(200);
    assert_eq!(
        answer.header("ratelimit"),
        Some("\"key\";r=3;t=1"),
        "one call is one request"
    );
}

#[test]
fn model_and_pause_come_before_the_rate_and_funds_after_it() {
    let server = one_node();
    let shape = json!({"rate_limit": {"per_second": 1, "burst": 1}});
    let poor = server.customer_with("0.00", shape);
    server.native(&poor, "GET", "/balance").expect(200);
    let model = "gemini-2.5-flash-image";
    server.gemini(&poor, "nothing", &fox()).expect(404);
    let answer = server.gemini(&poor, model, &fox()).expect(429);
    assert_rate_limited(&answer);
    server.pause(&["fast"]);
    server.gemini(&poor, model, &fox()).expect(503);
}
