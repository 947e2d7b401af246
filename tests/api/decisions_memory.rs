//! Decisions 11: the memory of input images is bounded over all calls, shared fairly between accounts, and freed when a caller
//! disconnects; calls that fetch have a rate.

use crate::support::batches::{batch_of, entry_with};
use crate::support::http::Request;
use crate::support::{
    Customer, OneNode, Options, Origin, Server, Wire, fox_with, origin, sample_images, until,
};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use tintype_storage::testing::stalled::StalledEngine;

const MIB: i64 = 1 << 20;
const BUDGET: i64 = 32 * MIB;
const DRY_RUN: &str = "/url-generations?dry_run=true";

/// Serves the beginning of an image, then stalls until the client disconnects.
fn stalled_image() -> origin::Serve {
    Arc::new(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        let _ = stream.write_all(&sample_images::png(1, 1)[..40]);
        let _ = stream.read(&mut [0; 1]);
    })
}

fn trial(server: &Server, customer: &Customer, urls: Vec<String>) -> Request {
    let body = fox_with(json!({"input_images_urls": urls}));
    server.generation(customer, DRY_RUN, &body)
}

fn server_with_budget() -> Server {
    Server::with(
        Options::new()
            .allow_loopback()
            .set("limits.ingest_bytes", BUDGET),
    )
}

#[test]
fn dry_runs_with_slow_images_use_half_of_the_budget_until_their_callers_disconnect() {
    let origin = Origin::start([
        ("/slow", stalled_image()),
        ("/fine", origin::bytes(sample_images::png(4, 4))),
    ]);
    let server = server_with_budget();
    let (hostile, other) = (server.customer("1.00"), server.customer("1.00"));
    let free = || server.instance().generations.inputs.memory.free() as i64;
    let calls = (0..6).map(|_| {
        let mut wire = Wire::open(server.address);
        wire.send(&trial(&server, &hostile, vec![origin.url("/slow"); 14]).wire());
        wire
    });
    let mut calls: Vec<Wire> = calls.collect();
    until("all connections are there", || origin.accepted() == 6 * 14);
    until("the account has its share", || free() < BUDGET - 6 * MIB);
    assert!(free() >= BUDGET / 2, "{}", free());
    trial(&server, &other, vec![origin.url("/fine"); 3]).expect(200);
    assert!(free() >= BUDGET / 2, "{}", free());
    calls.iter_mut().for_each(Wire::finish);
    until("the fetches have ended", || free() == BUDGET);
    until("nothing is left", || server.objects_left().is_empty());
    server.assert_money(&hostile, "1.00", "0.00", "1.00");
}

#[test]
fn a_fetch_ends_when_its_caller_disconnects_and_creates_no_job() {
    let origin = Origin::start([("/slow", stalled_image())]);
    let options = Options::new()
        .allow_loopback()
        .set("limits.ingest_bytes", BUDGET)
        .set("inputs.timeout_seconds", 3_600);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let free = || server.instance().generations.inputs.memory.free() as i64;
    let body = fox_with(json!({"input_images_urls": [origin.url("/slow")]}));
    let mut wire = Wire::open(server.address);
    wire.send(
        &server
            .generation(&customer, "/url-generations", &body)
            .wire(),
    );
    until("the image is being fetched", || free() < BUDGET);
    wire.finish();
    until("the fetch has ended", || free() == BUDGET);
    until("nothing is left", || server.objects_left().is_empty());
    assert_eq!(server.generator.runs(), 0);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

/// The service completes a submission whose texts it stores as objects.
#[test]
fn a_batch_keeps_its_memory_until_it_is_accepted_even_if_its_caller_disconnects() {
    let gate = StalledEngine::in_memory();
    let options = Options::new().behind(&gate);
    let server = Server::with(options.set("limits.ingest_bytes", BUDGET));
    let customer = server.customer("1.00");
    let free = || server.instance().generations.inputs.memory.free() as i64;
    let long = "x".repeat(30_000);
    let body = batch_of(&[entry_with(json!({"prompt": long}))]);
    gate.hold();
    let held = gate.held();
    let mut wire = Wire::open(server.address);
    wire.send(&server.batch_call(&customer, &body).wire());
    until("the batch is being written", || gate.held() > held);
    wire.finish();
    assert!(wire.is_closed(), "the call was answered");
    let meanwhile = free();
    gate.open();
    assert!(meanwhile < BUDGET);
    until("the memory is free", || free() == BUDGET);
    server.assert_settled();
}

#[test]
fn a_call_that_gets_no_memory_in_time_is_overloaded() {
    let origin = Origin::start([("/slow", stalled_image())]);
    let server = Server::with(
        Options::new()
            .allow_loopback()
            .set("limits.ingest_bytes", 16 * MIB)
            .set("inputs.timeout_seconds", 2),
    );
    let customer = server.customer("1.00");
    let answer = trial(&server, &customer, vec![origin.url("/slow"); 2]).refused(503, "overloaded");
    assert_eq!(answer.header("retry-after"), Some("5"));
    let free = || server.instance().generations.inputs.memory.free() as i64;
    until("the memory is free", || free() == 16 * MIB);
}

#[test]
fn the_fetches_of_a_key_without_a_rate_limit_are_limited() {
    let origin = Origin::start([("/fine", origin::bytes(sample_images::png(4, 4)))]);
    let options = Options::new()
        .allow_loopback()
        .one_node(OneNode::Rates)
        .set("limits.fetches_per_second", 1)
        .set("limits.fetch_burst", 2);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let fetch = || trial(&server, &customer, vec![origin.url("/fine")]);
    fetch().expect(200);
    fetch().expect(200);
    let refused = fetch().refused(429, "rate_limited");
    assert!(refused.header("retry-after").is_some());
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("fetch input images"), "{detail}");
    let text = server.generation(
        &customer,
        "/text-generations?dry_run=true",
        &fox_with(json!({})),
    );
    text.expect(200);
    let shape = json!({"rate_limit": {"per_second": 100, "burst": 100}});
    let rated = server.customer_with("1.00", shape);
    for _ in 0..4 {
        trial(&server, &rated, vec![origin.url("/fine")]).expect(200);
    }
}

#[test]
fn an_input_of_more_pixels_than_configured_is_refused_by_its_header() {
    let origin = Origin::start([
        ("/most", origin::bytes(sample_images::png(100, 100))),
        ("/more", origin::bytes(sample_images::png(101, 100))),
    ]);
    let server = Server::with(
        Options::new()
            .allow_loopback()
            .set("inputs.max_pixels", 10_000),
    );
    let customer = server.customer("1.00");
    trial(&server, &customer, vec![origin.url("/most")]).expect(200);
    trial(&server, &customer, vec![origin.url("/more")]).invalid(&["input_images_urls[0]"]);
}
