//! Decisions 1, "Order of checks": for each pair of neighbours, a request that fails both gets the earlier error.

use crate::support::batches::{batch_of, entry, entry_with};
use crate::support::{Customer, OneNode, Origin, Server, fox, fox_with, options::Options, origin};
use serde_json::{Value, json};
use std::io::Write as _;
use std::sync::{Arc, mpsc};

const TEXT: &str = "/text-generations";
const IMAGE: &str = "/url-generations";

fn body_with_unregistered_callback() -> Value {
    fox_with(json!({"callback_url": "https://example.com/hook"}))
}

fn body_with_unfetchable_image() -> Value {
    fox_with(json!({"input_images_urls": ["http://127.0.0.1:1/"]}))
}

/// An account whose only slot in the queue is taken.
fn customer_with_full_queue(server: &Server) -> Customer {
    let customer = server.customer("1.00");
    server.generator.hold();
    server.create(&customer);
    customer
}

fn server_with_one_live_job() -> Server {
    Server::with(Options::new().set("jobs.max_live_per_account", 1))
}

#[test]
fn authentication_before_path_and_method() {
    let server = Server::start();
    server.post("/api/v1/nothing").refused(401, "unauthorized");
    server
        .get("/api/v1/text-generations")
        .refused(401, "unauthorized");
}

#[test]
fn method_before_scope() {
    let server = Server::start();
    let scoped = server.customer_with("1.00", json!({"models": ["fast"]}));
    server
        .native(&scoped, "GET", TEXT)
        .refused(405, "method_not_allowed");
}

#[test]
fn scope_before_type_and_size() {
    let server = Server::start();
    let scoped = server.customer_with("1.00", json!({"models": ["fast"]}));
    server
        .native(&scoped, "POST", TEXT)
        .bytes("text/plain", b"x")
        .refused(403, "model_not_allowed");
    server
        .native(&scoped, "POST", TEXT)
        .header("Content-Length", "2000000")
        .refused(403, "model_not_allowed");
}

#[test]
fn type_and_size_before_body_and_headers() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .native(&customer, "POST", TEXT)
        .bytes("text/plain", b"{")
        .idempotent("two words")
        .refused(415, "unsupported_media_type");
    server
        .native(&customer, "POST", TEXT)
        .text(&"{".repeat(1_048_577))
        .idempotent("two words")
        .refused(413, "payload_too_large");
}

#[test]
fn body_and_headers_before_replay() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .generation(&customer, TEXT, &fox())
        .idempotent("k")
        .expect(202);
    server
        .generation(&customer, TEXT, &fox_with(json!({"prompt": ""})))
        .idempotent("k")
        .invalid(&["prompt"]);
}

#[test]
fn replay_before_pause() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.generation(&customer, TEXT, &fox()).idempotent("k");
    let job = call.expect(202).job_id();
    for paused in ["project", "pro"] {
        server.pause(&[paused]);
        assert_eq!(call.expect(202).job_id(), job);
        server
            .generation(&customer, TEXT, &fox_with(json!({"prompt": "b"})))
            .idempotent("k")
            .refused(422, "idempotency_key_reused");
    }
}

#[test]
fn replay_before_overload_and_limit_and_callback_and_funds() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::LiveJobsInAll)
            .set("jobs.max_live_per_account", 1)
            .set("jobs.max_live", 1),
    );
    let customer = server.customer("0.134");
    server.generator.hold();
    let call = server.generation(&customer, TEXT, &fox()).idempotent("k");
    let job = call.expect(202).job_id();
    let again = call.expect(202);
    assert_eq!(again.job_id(), job);
}

#[test]
fn pause_before_limit() {
    let server = server_with_one_live_job();
    let customer = customer_with_full_queue(&server);
    server.pause(&["pro"]);
    server
        .generation(&customer, TEXT, &fox())
        .refused(503, "paused");
}

#[test]
fn overload_before_limit() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::LiveJobsInAll)
            .set("jobs.max_live_per_account", 1)
            .set("jobs.max_live", 1),
    );
    let customer = customer_with_full_queue(&server);
    server
        .generation(&customer, TEXT, &fox())
        .refused(503, "overloaded");
}

#[test]
fn limit_before_callback() {
    let server = server_with_one_live_job();
    let customer = customer_with_full_queue(&server);
    server
        .generation(&customer, TEXT, &body_with_unregistered_callback())
        .refused(429, "rate_limited");
}

#[test]
fn pause_before_callback() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.pause(&["project"]);
    server
        .generation(&customer, TEXT, &body_with_unregistered_callback())
        .refused(503, "paused");
}

#[test]
fn callback_before_funds() {
    let server = Server::start();
    let poor = server.customer("0.00");
    server
        .generation(&poor, TEXT, &body_with_unregistered_callback())
        .invalid(&["callback_url"]);
    let capped = server.customer_with("1.00", json!({"spend_limit": "0.00"}));
    server
        .generation(&capped, TEXT, &body_with_unregistered_callback())
        .invalid(&["callback_url"]);
}

#[test]
fn funds_before_ingestion() {
    let trap = Origin::trap();
    let server = Server::with(Options::new().allow_loopback());
    let body = fox_with(json!({"input_images_urls": [trap.url("/")]}));
    let poor = server.customer("0.133");
    for body in [&body, &body_with_unfetchable_image()] {
        server
            .generation(&poor, IMAGE, body)
            .refused(402, "insufficient_balance");
    }
    let capped = server.customer_with("1.00", json!({"spend_limit": "0.20"}));
    server.generator.hold();
    // The limit counts the reservations of live jobs as well as the spending.
    server.create(&capped);
    for body in [&body, &body_with_unfetchable_image()] {
        server
            .generation(&capped, IMAGE, body)
            .refused(402, "key_limit_reached");
    }
    assert_eq!(trap.accepted(), 0);
}

/// A server at which a key may make two calls with input images at once.
fn server_with_fetch_burst() -> Server {
    let options = Options::new().allow_loopback().one_node(OneNode::Rates);
    let options = options.set("limits.fetches_per_second", 1);
    Server::with(options.set("limits.fetch_burst", 2))
}

#[test]
fn replay_before_the_rate_of_calls_with_inputs() {
    let image = crate::support::sample_images::png(2, 2);
    let origin = Origin::start([("/a.png", origin::bytes(image))]);
    let server = server_with_fetch_burst();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"input_images_urls": [origin.url("/a.png")]}));
    let call = server.generation(&customer, IMAGE, &body).idempotent("k");
    let job = call.expect(202).job_id();
    for _ in 0..3 {
        assert_eq!(call.expect(202).job_id(), job);
    }
    // The replays have not counted.
    server.generation(&customer, IMAGE, &body).expect(202);
    server
        .generation(&customer, IMAGE, &body)
        .refused(429, "rate_limited");
    server.assert_settled();
}

#[test]
fn the_rate_of_calls_with_inputs_before_funds() {
    let server = server_with_fetch_burst();
    let poor = server.customer("0.00");
    let call = server.generation(&poor, IMAGE, &body_with_unfetchable_image());
    for _ in 0..2 {
        call.refused(402, "insufficient_balance");
    }
    call.refused(429, "rate_limited");
}

#[test]
fn ingestion_before_the_reservation_that_decides() {
    let (arrived, has_arrived) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let gate = parking_lot::Mutex::new((arrived, may_go_on));
    let image = crate::support::sample_images::png(2, 2);
    let slow: origin::Serve = Arc::new(move |stream| {
        let gate = gate.lock();
        gate.0.send(()).unwrap();
        gate.1.recv().unwrap();
        origin::reply(stream, "200 OK", "", &image);
        let _ = stream.flush();
    });
    let origin = Origin::start([("/slow.png", slow)]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("0.20");
    let body = fox_with(json!({"input_images_urls": [origin.url("/slow.png")]}));
    let call = server.generation(&customer, IMAGE, &body).idempotent("k");
    let waiting = std::thread::spawn({
        let call = call.clone();
        move || call.send()
    });
    has_arrived.recv().unwrap();
    // Another job uses the money meanwhile.
    server.create(&customer);
    go_on.send(()).unwrap();
    let answer = waiting.join().unwrap();
    answer.assert_problem(402, "insufficient_balance");
    server.assert_settled();
    let left = server.objects_left();
    assert!(left.iter().all(|it| it.starts_with("results/")), "{left:?}");
    // The rejected call has not used up its idempotency key either.
    let deposit = json!({"amount": "1.00"});
    let path = format!("/accounts/{}/deposits", customer.account);
    server.admin("POST", &path).json(&deposit).expect(201);
    go_on.send(()).unwrap();
    call.expect(202);
    server.assert_settled();
}

/// As for single calls. The models are in the body, so its type and size come before the scope.
#[test]
fn a_batch_that_fails_two_checks_gets_the_earlier_error() {
    let options = Options::new().one_node(OneNode::LiveJobsInAll);
    let options = options.set("jobs.max_live_per_account", 1);
    let server = Server::with(options.set("jobs.max_live", 2));
    let batch = |customer: &Customer, body: &Value| server.batch_call(customer, body);
    let scoped = server.customer_with("0.00", json!({"models": ["fast"]}));
    let faulty = batch_of(&[entry_with(json!({"model": "pro", "prompt": ""}))]);
    let untyped = server.native(&scoped, "POST", "/batches");
    untyped
        .bytes("text/plain", faulty.to_string().as_bytes())
        .refused(415, "unsupported_media_type");
    batch(&scoped, &faulty).refused(403, "model_not_allowed");
    let customer = server.customer("0.039");
    server.generator.hold();
    let first = batch(&customer, &batch_of(&[entry()])).idempotent("k");
    let accepted = first.expect(202).json();
    batch(&customer, &batch_of(&[entry_with(json!({"prompt": ""}))]))
        .idempotent("k")
        .invalid(&["requests[0].prompt"]);
    server.pause(&["fast"]);
    assert_eq!(first.expect(202).json()["batch_id"], accepted["batch_id"]);
    batch(&customer, &batch_of(&vec![entry(); 9])).refused(503, "paused");
    server.pause(&[]);
    batch(&customer, &batch_of(&vec![entry(); 2])).refused(503, "overloaded");
    let mut named = batch_of(&[entry()]);
    named["callback_url"] = json!("https://example.com/hook");
    batch(&customer, &named).refused(429, "rate_limited");
    batch(&server.customer("0.00"), &named).invalid(&["callback_url"]);
    server.generator.release_all();
    server.assert_settled();
}
