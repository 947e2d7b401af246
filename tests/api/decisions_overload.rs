//! Decisions 1, `overloaded`: more concurrent calls than the disk can take.

use crate::support::http::Answer;
use crate::support::{Customer, Options, Server, fox, until};
use serde_json::json;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tintype_storage::testing::stalled::StalledEngine;

const PATH: &str = "/text-generations";

/// A server whose disk a test can stall. Four creations may wait for the disk, at most two of them from one account.
struct World {
    gate: Arc<StalledEngine>,
    server: Server,
}

impl World {
    fn new() -> Self {
        let gate = StalledEngine::in_memory();
        let options = Options::new().behind(&gate);
        let server = Server::with(options.set("jobs.max_creations_under_way", 4));
        Self { gate, server }
    }

    /// Starts a creation that waits for the disk.
    fn wait(&self, customer: &Customer) -> JoinHandle<Answer> {
        let before = self.in_flight();
        let call = self.server.generation(customer, PATH, &fox());
        let waiting = thread::spawn(move || call.send());
        until("the call waits for the disk", || self.in_flight() > before);
        waiting
    }

    fn in_flight(&self) -> usize {
        self.server.inside().system.accounts().in_flight()
    }

    /// The detail of the `overloaded` error that this customer gets.
    fn refusal(&self, customer: &Customer) -> String {
        let call = self.server.generation(customer, PATH, &fox());
        let answer = call.refused(503, "overloaded");
        assert_eq!(answer.header("retry-after"), Some("1"));
        answer.json()["detail"].as_str().unwrap().to_owned()
    }

    /// Releases the disk and asserts that the server accepts all waiting calls.
    fn release(&self, waiting: Vec<JoinHandle<Answer>>) {
        self.gate.open();
        for call in waiting {
            assert_eq!(call.join().unwrap().status, 202);
        }
        until("no call waits any more", || self.in_flight() == 0);
    }
}

#[test]
fn waiting_calls_are_limited_for_each_account_and_in_total() {
    let world = World::new();
    let customers = [(); 3].map(|()| world.server.customer("9.00"));
    let [flooding, other, third] = &customers;
    world.gate.hold();
    let mut waiting = vec![world.wait(flooding), world.wait(flooding)];
    let detail = world.refusal(flooding);
    assert!(detail.contains("calls of this account"), "{detail}");
    waiting.push(world.wait(other));
    waiting.push(world.wait(third));
    for customer in &customers {
        let detail = world.refusal(customer);
        assert!(detail.contains("the service has more calls"), "{detail}");
    }
    world.release(waiting);
    customers
        .iter()
        .for_each(|it| drop(world.server.create(it)));
    assert_eq!(world.server.assert_settled().ended_jobs, 7);
}

#[test]
fn a_call_beyond_the_limit_of_waiting_calls_is_rejected_without_any_effect() {
    let world = World::new();
    let customer = world.server.customer("9.00");
    let named = |name| {
        let call = world.server.generation(&customer, PATH, &fox());
        call.idempotent(name)
    };
    let first = named("before").expect(202).job_id();
    world.server.job_once(&customer, &first, "done");
    world.gate.hold();
    let waiting = vec![world.wait(&customer), world.wait(&customer)];
    let server = &world.server;
    for call in [
        server.generation(&customer, PATH, &json!({"promt": 1})),
        named("before"),
        named("after"),
        server.generation(&customer, &format!("{PATH}?dry_run=true"), &fox()),
    ] {
        call.refused(503, "overloaded");
    }
    // Calls that need neither a decision nor the disk work as usual, and unauthorized callers get 401.
    server.native(&customer, "GET", "/balance").expect(200);
    server.native(&customer, "GET", "/jobs").expect(200);
    let stranger = server.post("/api/v1/text-generations").json(&fox());
    stranger.refused(401, "unauthorized");
    world.release(waiting);
    assert_eq!(named("before").expect(202).job_id(), first);
    assert_ne!(named("after").expect(202).job_id(), first);
    assert_eq!(server.assert_settled().ended_jobs, 4);
}

#[test]
fn disconnected_callers_are_no_longer_counted() {
    let world = World::new();
    let customer = world.server.customer("9.00");
    world.gate.hold();
    for _ in 0..3 {
        let call = world.server.generation(&customer, PATH, &fox());
        let mut wire = crate::support::Wire::open(world.server.address);
        wire.send(&call.wire());
        until("the call waits for the disk", || world.in_flight() == 1);
        wire.finish();
        until("the caller is gone", || world.in_flight() == 0);
    }
    world.gate.open();
    // The first one was decided while its caller waited.
    assert_eq!(world.server.assert_settled().ended_jobs, 1);
}
