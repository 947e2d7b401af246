//! Decisions 1, "Limits": requests per second of a key.

use crate::support::http::Request;
use crate::support::{Answer, Customer, OneNode, Server, fox, fox_with, options::Options};
use serde_json::json;
use std::time::Duration;

const TEXT: &str = "/text-generations";

fn start() -> Server {
    Server::with(Options::new().one_node(OneNode::Rates))
}

/// A key with a burst of two and one call per second.
fn rate_limited_customer(server: &Server) -> Customer {
    server.customer_with(
        "10.00",
        json!({"rate_limit": {"per_second": 1, "burst": 2}}),
    )
}

fn rate_headers(answer: &Answer) -> [Option<&str>; 2] {
    ["ratelimit-policy", "ratelimit"].map(|name| answer.header(name))
}

/// Uses up the burst of a key.
fn exhaust(server: &Server, customer: &Customer) {
    for _ in 0..2 {
        server.native(customer, "GET", "/balance").expect(200);
    }
}

#[test]
fn a_call_beyond_the_rate_limit_is_429_until_the_bucket_refills() {
    let server = start();
    let customer = rate_limited_customer(&server);
    let call = server.native(&customer, "GET", "/balance");
    let policy = Some("\"key\";q=2;w=2");
    assert_eq!(
        rate_headers(&call.expect(200)),
        [policy, Some("\"key\";r=1;t=1")]
    );
    assert_eq!(
        rate_headers(&call.expect(200)),
        [policy, Some("\"key\";r=0;t=2")]
    );
    let refused = call.refused(429, "rate_limited");
    assert_eq!(rate_headers(&refused), [policy, Some("\"key\";r=0;t=1")]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    server.clock.advance(Duration::from_millis(999));
    call.refused(429, "rate_limited");
    server.clock.advance(Duration::from_millis(1));
    call.expect(200);
    call.refused(429, "rate_limited");
    server.clock.advance(Duration::from_secs(3_600));
    assert_eq!(rate_headers(&call.expect(200))[1], Some("\"key\";r=1;t=1"));
}

#[test]
fn an_invalid_parameter_of_a_read_is_reported_before_the_rate_limit() {
    let server = start();
    let customer = rate_limited_customer(&server);
    let job = server.create(&customer);
    server.native(&customer, "GET", "/balance").expect(200);
    for path in [
        "/jobs?limit=0",
        "/transactions?limit=0",
        &format!("/jobs/{job}?wait=x"),
    ] {
        let call = server.native(&customer, "GET", path);
        call.refused(422, "validation_failed");
    }
    server
        .native(&customer, "GET", "/jobs")
        .refused(429, "rate_limited");
}

#[test]
fn every_call_of_the_interface_is_limited() {
    let server = start();
    let customer = rate_limited_customer(&server);
    let job = server.create(&customer);
    server.native(&customer, "GET", "/balance").expect(200);
    let job = format!("/jobs/{job}");
    let events = format!("{job}/events");
    for path in [
        "/balance",
        "/jobs",
        "/transactions",
        "/models",
        "/key",
        &job,
        &events,
    ] {
        server
            .native(&customer, "GET", path)
            .refused(429, "rate_limited");
    }
    server
        .native(&customer, "DELETE", &job)
        .refused(429, "rate_limited");
    server
        .generation(&customer, TEXT, &fox())
        .refused(429, "rate_limited");
    let dry = format!("{TEXT}?dry_run=true");
    server
        .generation(&customer, &dry, &fox())
        .refused(429, "rate_limited");
}

#[test]
fn responses_of_every_kind_have_the_rate_limit_headers() {
    let server = start();
    let customer = server.customer_with(
        "10.00",
        json!({"rate_limit": {"per_second": 1, "burst": 100}}),
    );
    let calls: [(Request, u16); 6] = [
        (server.generation(&customer, TEXT, &fox()), 202),
        (server.generation(&customer, TEXT, &json!({})), 422),
        (server.native(&customer, "GET", "/nothing"), 404),
        (server.native(&customer, "GET", TEXT), 405),
        (
            server
                .native(&customer, "POST", TEXT)
                .bytes("text/plain", b"x"),
            415,
        ),
        (server.native(&customer, "HEAD", "/balance"), 200),
    ];
    for (at, (call, status)) in calls.iter().enumerate() {
        let answer = call.expect(*status);
        let left = format!("\"key\";r={};t={}", 99 - at, at + 1);
        assert_eq!(
            rate_headers(&answer),
            [Some("\"key\";q=100;w=100"), Some(&*left)]
        );
    }
    // A key without a limit, and a call without a key, get no headers.
    let free = server.customer("1.00");
    assert_eq!(
        rate_headers(&server.native(&free, "GET", "/balance").expect(200)),
        [None, None]
    );
    assert_eq!(
        rate_headers(&server.get("/api/v1/balance").expect(401)),
        [None, None]
    );
}

#[test]
fn the_rate_limit_has_a_fixed_position_in_the_order_of_checks() {
    let server = start();
    let customer = rate_limited_customer(&server);
    let call = server.generation(&customer, TEXT, &fox()).idempotent("k");
    let job = call.expect(202).job_id();
    server.native(&customer, "GET", "/balance").expect(200);
    // The checks that precede the rate limit.
    server
        .native(&customer, "GET", "/nothing")
        .refused(404, "not_found");
    server
        .native(&customer, "GET", TEXT)
        .refused(405, "method_not_allowed");
    server
        .native(&customer, "POST", TEXT)
        .bytes("text/plain", b"x")
        .refused(415, "unsupported_media_type");
    server
        .generation(&customer, TEXT, &json!({}))
        .refused(422, "validation_failed");
    assert_eq!(call.expect(202).job_id(), job, "a replay is answered");
    let other = fox_with(json!({"prompt": "another"}));
    server
        .generation(&customer, TEXT, &other)
        .idempotent("k")
        .refused(422, "idempotency_key_reused");
    server.pause(&["pro"]);
    server
        .generation(&customer, TEXT, &fox())
        .refused(503, "paused");
    server.pause(&[]);
    // The checks that follow the rate limit.
    let unregistered = fox_with(json!({"callback_url": "https://example.com/"}));
    server
        .generation(&customer, TEXT, &unregistered)
        .refused(429, "rate_limited");
    // A rejected call costs nothing and uses no idempotency key up.
    let fresh = server
        .generation(&customer, TEXT, &fox())
        .idempotent("fresh");
    fresh.refused(429, "rate_limited");
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(fresh.expect(202).header("idempotent-replayed"), None);
    assert_eq!(server.assert_settled().ended_jobs, 2);
}

#[test]
fn the_limit_of_the_configuration_is_for_keys_without_their_own() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::Rates)
            .set("limits.requests_per_second", 1)
            .set("limits.burst", 3),
    );
    let (plain, own) = (server.customer("1.00"), rate_limited_customer(&server));
    for (customer, burst) in [(&plain, 3), (&own, 2)] {
        let call = server.native(customer, "GET", "/balance");
        for _ in 0..burst {
            call.expect(200);
        }
        call.refused(429, "rate_limited");
    }
    // The operator has no rate limit.
    for _ in 0..10 {
        server.admin("GET", "/accounts").expect(200);
    }
}

#[test]
fn keys_of_one_account_are_limited_each_by_itself() {
    let server = start();
    let first = rate_limited_customer(&server);
    let second = server.another_key(
        &first.account,
        json!({"rate_limit": {"per_second": 1, "burst": 2}}),
    );
    exhaust(&server, &first);
    server
        .native(&first, "GET", "/balance")
        .refused(429, "rate_limited");
    exhaust(&server, &second);
}

#[test]
fn a_changed_limit_applies_from_the_next_call_on() {
    let server = start();
    let customer = rate_limited_customer(&server);
    exhaust(&server, &customer);
    let call = server.native(&customer, "GET", "/balance");
    call.refused(429, "rate_limited");
    let path = format!("/keys/{}", customer.key_id);
    let wider = json!({"rate_limit": {"per_second": 1, "burst": 5}});
    server.admin("PATCH", &path).json(&wider).expect(200);
    for _ in 0..5 {
        call.expect(200);
    }
    call.refused(429, "rate_limited");
    server
        .admin("PATCH", &path)
        .json(&json!({"rate_limit": null}))
        .expect(200);
    assert_eq!(rate_headers(&call.expect(200)), [None, None]);
}

#[test]
fn hostile_34_wrong_keys_are_not_counted_against_good_ones() {
    let server = start();
    let customer = rate_limited_customer(&server);
    let last = if customer.key.ends_with('x') {
        'y'
    } else {
        'x'
    };
    let wrong = format!("{}{last}", &customer.key[..customer.key.len() - 1]);
    for _ in 0..50 {
        server
            .get("/api/v1/balance")
            .bearer(&wrong)
            .refused(401, "unauthorized");
    }
    exhaust(&server, &customer);
}
