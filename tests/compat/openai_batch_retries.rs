//! Repeated and concurrent submissions of files, and the memory that a submission holds.

use crate::file_batches::{fox, ids, line, lines};
use crate::fixture::ResponseAssertions;
use crate::support::{OneNode, Options, Server, Wire, until};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, FileId};
use tintype_storage::testing::stalled::StalledEngine;
use uuid::Uuid;

const INVALID: &str = "invalid_request_error";
const BUDGET: u64 = 16 << 20;
/// The smallest reservation of memory.
const UNIT: u64 = 64 << 10;

/// A retry must not get the batch of an earlier call with the same file.
#[test]
fn a_retry_of_a_call_that_was_refused_after_its_client_left_makes_a_batch() {
    let options = Options::new().one_node(OneNode::Memory);
    let server = Server::with(options.set("limits.ingest_bytes", BUDGET as i64));
    let customer = server.customer("20.00");
    // Its memory is more than one unit.
    let many: Vec<Value> = (0..200).map(|it| fox(&it.to_string())).collect();
    let file = server.upload(&customer, &lines(&many));
    let call = |attempt: &str| {
        let call = server.file_batch_call(&customer, &file, json!({}));
        call.header("x-stainless-retry-count", attempt)
    };
    let first = call("0").expect(200).json();
    server.clock.advance(Duration::from_secs(1));
    let memory = &server.instance().generations.inputs.memory;
    let reserve = |account: u64| {
        let account = AccountId(Uuid::from_u128(u128::from(account)));
        let memory = memory.of(account, Duration::MAX);
        memory.reserve(Some(0)).now_or_never()
    };
    let others = (1..BUDGET / UNIT).map(|number| reserve(number % 2).expect("free memory"));
    let others: Vec<_> = others.collect();
    let mut wire = Wire::open(server.address);
    wire.send(&call("0").wire());
    until("the call waits for memory", || reserve(2).is_none());
    wire.finish();
    assert!(wire.is_closed(), "the call was answered");
    server.pause(&["fast"]);
    drop(others);
    until("the call has ended", || memory.free() == BUDGET);
    server.pause(&[]);
    server.clock.advance(Duration::from_secs(1));
    let second = call("1").expect(200).json();
    assert_ne!(second["id"], first["id"]);
    assert_eq!(call("2").expect(200).json()["id"], second["id"]);
    let batches = server.v1(&customer, "GET", "/batches").expect(200);
    assert_eq!(ids(&batches).len(), 2);
}

#[test]
fn a_failed_batch_is_replayed_when_its_file_has_become_valid() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast"]}));
    let request = line("a", json!({"model": "pro", "prompt": "a fox"}));
    let file = server.upload(&customer, &lines(&[request]));
    let call = server.file_batch_call(&customer, &file, json!({}));
    let call = call.idempotent("k");
    let first = call.expect(200).json();
    assert_eq!(first["status"], "failed");
    let key = server.admin("PATCH", &format!("/keys/{}", customer.key_id));
    key.json(&json!({"models": ["fast", "pro"]})).expect(200);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn the_same_requests_in_another_file_are_the_same_call() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = || {
        let file = server.upload(&customer, &lines(&[fox("a")]));
        let call = server.file_batch_call(&customer, &file, json!({}));
        call.idempotent("k").expect(200)
    };
    let first = call().json();
    let again = call();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["id"], first["id"]);
}

#[test]
fn calls_with_one_idempotency_key_take_turns() {
    let server = Server::with(Options::new().one_node(OneNode::Alone));
    let customer = server.customer("1.00");
    let call = |content: &str| {
        let file = server.upload(&customer, content);
        let call = server.file_batch_call(&customer, &file, json!({}));
        (file, call.idempotent("k"))
    };
    let (file, invalid) = call("no JSON");
    let (_, valid) = call(&lines(&[fox("a")]));
    let id = file["id"].as_str().and_then(|it| it.strip_prefix("file-"));
    let id: FileId = id.expect("an id").parse().unwrap();
    let guard = server.inside().locks.files.lock(id).now_or_never();
    let invalid = server.in_background(invalid);
    let name = (
        customer.account.parse::<AccountId>().unwrap(),
        "k".to_owned(),
    );
    let submissions = &server.instance().compat.submissions;
    until("the first call has its turn", || {
        submissions.try_acquire(name.clone(), 1).is_none()
    });
    let valid = server.in_background(valid);
    drop(guard);
    let first = invalid.join().unwrap();
    assert_eq!(first.json()["status"], "failed");
    let second = valid.join().unwrap();
    second.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn the_memory_of_the_requests_is_reserved_until_the_batch_is_accepted() {
    let gate = StalledEngine::in_memory();
    let server = Server::with(Options::new().behind(&gate));
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let free = || server.instance().generations.inputs.memory.free();
    let all = free();
    gate.hold();
    let held = gate.held();
    let call = server.file_batch_call(&customer, &file, json!({}));
    let call = server.in_background(call);
    until("the batch is being written", || gate.held() > held);
    let meanwhile = free();
    gate.open();
    assert_eq!(call.join().unwrap().status, 200);
    assert!(meanwhile < all);
    assert_eq!(free(), all);
}

#[test]
fn a_repeated_call_with_another_lifetime_of_the_results_is_another_call() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = |file: &Value, extra: Value| {
        let call = server.file_batch_call(&customer, file, extra);
        call.idempotent("k")
    };
    let lifetime = |seconds: u32| json!({"output_expires_after": {"anchor": "created_at", "seconds": seconds}});
    let first = call(&file, lifetime(3_600)).expect(200).json();
    // The same requests in another file are the same call.
    let copy = server.upload(&customer, &lines(&[fox("a")]));
    for file in [&file, &copy] {
        let again = call(file, lifetime(3_600)).expect(200).json();
        assert_eq!(again["id"], first["id"]);
        for extra in [lifetime(7_200), json!({})] {
            let other = call(file, extra).send();
            other.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
        }
    }
    server.assert_settled();
}
