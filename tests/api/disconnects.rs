//! A caller disconnects while its commit is being written: the change still takes effect, and every later caller sees it.

use crate::support::http::Request;
use crate::support::{Customer, Options, Server, Wire, fox, fox_with, until};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::sync::Arc;
use tintype_storage::testing::stalled::StalledEngine;

struct World {
    gate: Arc<StalledEngine>,
    server: Server,
    customer: Customer,
}

impl World {
    fn new() -> Self {
        let gate = StalledEngine::in_memory();
        let options = Options::new().behind(&gate);
        let server = Server::with(options.slots(1));
        let customer = server.customer("9.00");
        let world = Self {
            gate,
            server,
            customer,
        };
        assert_eq!(world.status_of(&world.customer.key), 200);
        world
    }

    fn status_of(&self, key: &str) -> u16 {
        self.server.get("/api/v1/balance").bearer(key).send().status
    }

    /// Makes a call and disconnects while its commit is being written. Returns once the server has noticed.
    fn disconnect_during_commit(&self, request: &Request) {
        self.gate.hold();
        let held = self.gate.held();
        let mut wire = self.send(request);
        until("the commit is on its way", || self.gate.held() > held);
        wire.finish();
        assert!(wire.is_closed(), "the call was answered");
    }

    fn send(&self, request: &Request) -> Wire {
        let mut wire = Wire::open(self.server.address);
        wire.send(&request.wire());
        wire
    }

    fn key_path(&self) -> String {
        format!("/keys/{}", self.customer.key_id)
    }

    fn assert_key_rejected(&self) {
        until("the key opens nothing", || {
            self.status_of(&self.customer.key) == 401
        });
    }
}

#[test]
fn a_key_removed_by_a_disconnected_caller_is_rejected() {
    let world = World::new();
    world.disconnect_during_commit(&world.server.admin("DELETE", &world.key_path()));
    world.gate.open();
    world.assert_key_rejected();
    world.server.assert_well();
}

#[test]
fn a_key_deactivated_by_a_disconnected_caller_is_rejected() {
    let world = World::new();
    let change = world.server.admin("PATCH", &world.key_path());
    world.disconnect_during_commit(&change.json(&json!({"active": false})));
    world.gate.open();
    world.assert_key_rejected();
}

#[test]
fn a_key_text_replaced_by_a_disconnected_caller_is_rejected() {
    let world = World::new();
    let path = format!("{}/rotate", world.key_path());
    let rotate = world.server.admin("POST", &path);
    world.disconnect_during_commit(&rotate.json(&json!({"overlap_hours": 0})));
    world.gate.open();
    world.assert_key_rejected();
}

#[test]
fn a_pause_set_by_a_disconnected_caller_takes_effect() {
    let world = World::new();
    let pause = world.server.admin("PUT", "/pause");
    world.disconnect_during_commit(&pause.json(&json!({"project": true})));
    assert_eq!(paused(&world), false);
    world.gate.open();
    until("the project is paused", || paused(&world) == true);
    let call = world
        .server
        .native(&world.customer, "POST", "/text-generations");
    call.json(&fox()).refused(503, "paused");
}

fn paused(world: &World) -> Value {
    let switches = world.server.admin("GET", "/pause").expect(200).json();
    switches["project"].clone()
}

#[test]
fn the_next_change_waits_for_the_change_of_a_disconnected_caller() {
    let world = World::new();
    let change = |body: Value| world.server.admin("PATCH", &world.key_path()).json(&body);
    let turns = &world.server.inside().locks.operator;
    assert!(turns.lock().now_or_never().is_some());
    world.disconnect_during_commit(&change(json!({"active": false})));
    assert!(turns.lock().now_or_never().is_none());
    world.gate.open();
    let key = change(json!({"name": "another name"})).expect(200).json();
    let changed = (&key["active"], &key["name"]);
    assert_eq!(changed, (&json!(false), &json!("another name")));
}

#[test]
fn a_job_canceled_by_a_disconnected_caller_leaves_the_queue() {
    let world = World::new();
    let server = &world.server;
    server.generator.hold();
    let running = server.create(&world.customer);
    server.job_once(&world.customer, &running, "processing");
    let queued = server.create(&world.customer);
    let waiting = || server.admin("GET", "/stats").expect(200).json()["queued"]["pro"].clone();
    assert_eq!(waiting(), 1);
    let path = format!("/jobs/{queued}");
    world.disconnect_during_commit(&server.native(&world.customer, "DELETE", &path));
    world.gate.open();
    until("nothing waits", || waiting() == 0);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_person_removed_by_a_disconnected_caller_is_signed_out() {
    let world = World::new();
    let account = &world.customer.account;
    let browser = world.server.person(account, "ada@shop.example", "owner");
    let people = format!("/accounts/{account}/people");
    let list = world.server.admin("GET", &people).expect(200).json();
    let person = list["data"][0]["person_id"].as_str().unwrap().to_owned();
    world.disconnect_during_commit(&world.server.admin("DELETE", &format!("{people}/{person}")));
    world.gate.open();
    until("the person is signed out", || {
        browser.call(&world.server, "GET", "/session").send().status == 401
    });
}

#[test]
fn a_creation_whose_caller_disconnects_before_its_decision_creates_nothing() {
    let world = World::new();
    let (server, customer) = (&world.server, &world.customer);
    let create = |path: &str, body: &Value| server.native(customer, "POST", path).json(body);
    let job = |prompt: &str| fox_with(json!({"prompt": prompt}));
    // A long text is an object, which a refused call must not leave behind.
    let long = job(&"x".repeat(32_768));
    let batch = json!({"requests": [fox_with(json!({"model": "pro", "prompt": long["prompt"]}))]});
    let abandoned = [
        create("/text-generations", &fox()),
        create("/text-generations", &long),
        create("/batches", &batch),
    ];
    world.gate.hold();
    let held = world.gate.held();
    let mut first = world.send(&create("/text-generations", &fox()));
    until("the commit is on its way", || world.gate.held() > held);
    let waiting = abandoned.map(|request| world.send(&request));
    let accounts = server.inside().system.accounts();
    until("they wait for the next round", || accounts.in_flight() == 4);
    for mut wire in waiting {
        wire.finish();
        assert!(wire.is_closed(), "the call was answered");
    }
    // The server closes a connection before it drops its call.
    until("only the first call and this one are left", || {
        let metrics = server.get("/metrics").expect(200).text();
        metrics.contains("tintype_http_requests_in_flight 2\n")
    });
    world.gate.open();
    let created = first.answer_to("POST").expect("an answer");
    assert_eq!(created.status, 202);
    until("the others are refused", || accounts.in_flight() == 0);
    server.assert_settled();
    let jobs = server.native(customer, "GET", "/jobs").expect(200).json();
    assert_eq!(jobs["data"].as_array().map(Vec::len), Some(1));
    let texts = server.objects().join("words");
    until("the texts are deleted", || {
        std::fs::read_dir(&texts).map_or(0, Iterator::count) == 0
    });
}
