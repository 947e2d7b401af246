//! Automatic retries of OpenAI's SDKs, which send no idempotency key but count their attempts.

use crate::file_batches::{fox, ids, lines, upload_form};
use crate::openai_edits;
use crate::openai_responses::{self, respond};
use crate::support::http::Request;
use crate::support::{
    Answer, Behaviour, Customer, OneNode, Options, Server, Wire, fox as native_fox, sample_images,
    until,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::store::tables::ENDED_JOBS;
use tintype_storage::testing::failing::FailingEngine;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::stalled::StalledEngine;

fn start() -> Server {
    Server::with(Options::new().one_node(OneNode::Repeats))
}

fn numbered(call: Request, number: u32) -> Request {
    call.header("x-stainless-retry-count", &number.to_string())
}

fn attempt_call(server: &Server, customer: &Customer, body: &Value, number: u32) -> Request {
    numbered(server.openai(customer, body), number)
}

fn attempt(server: &Server, customer: &Customer, body: &Value, number: u32) -> Answer {
    attempt_call(server, customer, body, number).expect(200)
}

/// Sends a request whose connection the client leaves open, as a proxy does after its client has disconnected.
fn send_through_proxy(server: &Server, call: &Request) -> Wire {
    let mut wire = Wire::open(server.address);
    wire.send(&call.wire());
    wire
}

fn fast_fox() -> Value {
    json!({"model": "fast", "prompt": "a fox"})
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[test]
fn a_retry_after_a_lost_answer_gets_the_image_of_the_first_attempt() {
    let server = start();
    let customer = server.customer("1.00");
    let body = json!({"model": "fast", "prompt": "a fox", "n": 2});
    let first = attempt(&server, &customer, &body, 0);
    assert!(!is_replay(&first));
    for number in [1, 2] {
        let again = attempt(&server, &customer, &body, number);
        assert!(is_replay(&again));
        assert_eq!(again.json()["data"].as_array().map(Vec::len), Some(2));
    }
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    assert!(!is_replay(&attempt(&server, &customer, &body, 0)));
    server.assert_money(&customer, "0.844", "0.00", "0.844");
    server.clock.advance(Duration::from_secs(121));
    assert!(!is_replay(&attempt(&server, &customer, &body, 1)));
    server.assert_money(&customer, "0.766", "0.00", "0.766");
    server.assert_settled();
}

#[test]
fn a_retry_gets_the_image_when_the_balance_is_spent_and_while_the_service_is_paused() {
    let server = start();
    let customer = server.customer("0.039");
    let body = json!({"model": "fast", "prompt": "a fox"});
    let first = attempt(&server, &customer, &body, 0);
    server.pause(&["fast"]);
    let again = attempt(&server, &customer, &body, 1);
    assert!(is_replay(&again));
    assert_eq!(
        again.json()["data"][0]["b64_json"],
        first.json()["data"][0]["b64_json"]
    );
    server.assert_money(&customer, "0.00", "0.00", "0.00");
}

/// Otherwise a program that asks for the same prompt twice would get the first image twice.
#[test]
fn a_retry_of_a_refused_call_creates_a_job() {
    let server = start();
    let customer = server.customer("1.00");
    let body = json!({"model": "fast", "prompt": "a fox"});
    attempt(&server, &customer, &body, 0);
    server.clock.advance(Duration::from_secs(1));
    server.pause(&["fast"]);
    let refused = server.openai(&customer, &body);
    let refused = refused.header("x-stainless-retry-count", "0").send();
    assert_eq!(refused.status, 503);
    server.pause(&[]);
    assert!(!is_replay(&attempt(&server, &customer, &body, 1)));
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

/// No SDK repeats a call that was refused for its content, so the retry repeats the first call.
#[test]
fn a_retry_gets_its_image_after_another_call_was_refused_for_its_previous_response() {
    let server = start();
    let customer = server.customer("1.00");
    let attempt = |extra: Value, number: u32| {
        let call = respond(&server, &customer, &openai_responses::fox(extra));
        numbered(call, number)
    };
    let first = attempt(json!({}), 0).expect(200).json();
    server.clock.advance(Duration::from_secs(1));
    let unknown = json!({"previous_response_id": "resp_01890000-0000-7000-8000-000000000000"});
    attempt(unknown, 0).expect(400);
    let again = attempt(json!({}), 1).expect(200);
    assert_eq!(again.json()["id"], first["id"]);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

/// The first attempt is refused after its client has left.
#[test]
fn a_retry_of_a_call_that_was_refused_unseen_does_not_get_an_earlier_image() {
    let gate = StalledEngine::in_memory();
    let server = Server::with(Options::new().behind(&gate));
    let customer = server.customer("0.078");
    let body = json!({"model": "fast", "prompt": "a fox"});
    attempt(&server, &customer, &body, 0);
    server.clock.advance(Duration::from_secs(1));
    let in_flight = || server.inside().system.accounts().in_flight();
    until("no call waits", || in_flight() == 0);
    gate.hold();
    // Takes the rest of the balance.
    let other = server.generation(&customer, "/nb/text-generations", &native_fox());
    let other = server.in_background(other);
    until("a call waits for the disk", || in_flight() == 1);
    let call = server.openai(&customer, &body);
    let call = call.header("x-stainless-retry-count", "0");
    let mut wire = Wire::open(server.address);
    wire.send(&call.wire());
    until("both calls wait", || in_flight() == 2);
    wire.finish();
    assert!(wire.is_closed(), "the call was answered");
    gate.open();
    assert_eq!(other.join().unwrap().status, 202);
    until("both calls have ended", || in_flight() == 0);
    let retry = server.openai(&customer, &body);
    let retry = retry.header("x-stainless-retry-count", "1").send();
    assert_eq!(retry.status, 429, "{}", retry.text());
}

#[test]
fn a_retry_gets_the_images_of_a_call_that_still_waits() {
    let server = start();
    let customer = server.customer("1.00");
    let body = json!({"model": "fast", "prompt": "a fox", "n": 2});
    let call = |number| attempt_call(&server, &customer, &body, number);
    server.generator.hold();
    let first = send_through_proxy(&server, &call(0));
    server.until_running(2);
    until("the first call waits", || server.watchers() == 2);
    let mut retries = Vec::new();
    for number in [1, 2] {
        retries.push(server.in_background(call(number)));
        let watchers = retries.len() * 2 + 2;
        until("the retry waits", || server.watchers() == watchers);
    }
    drop(first);
    until("the first call has ended", || server.watchers() == 4);
    assert_eq!(server.generator.runs(), 2);
    server.generator.release_all();
    for retry in retries {
        let answer = retry.join().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(is_replay(&answer));
        assert_eq!(answer.json()["data"].as_array().map(Vec::len), Some(2));
    }
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    assert!(!is_replay(&attempt(&server, &customer, &body, 0)));
    server.assert_money(&customer, "0.844", "0.00", "0.844");
    server.assert_settled();
}

#[test]
fn the_disconnect_of_the_retry_cancels_a_queued_job_and_that_of_the_first_call_does_not() {
    let server = Server::with(Options::new().slots(1).one_node(OneNode::Repeats));
    let customer = server.customer("1.00");
    server.generator.hold();
    let other = server.in_background(server.openai(&customer, &json!({"prompt": "an owl"})));
    server.until_running(1);
    let call = |number| attempt_call(&server, &customer, &fast_fox(), number);
    let first = send_through_proxy(&server, &call(0));
    until("the first call waits", || server.watchers() == 2);
    let retry = send_through_proxy(&server, &call(1));
    until("the retry waits", || server.watchers() == 3);
    server.assert_money(&customer, "1.00", "0.078", "0.922");
    drop(first);
    until("the first call has ended", || server.watchers() == 2);
    server.until_live(2);
    drop(retry);
    server.until_live(1);
    let key = KeyId(customer.key_id.parse().unwrap());
    let (compat, now) = (&server.instance().compat, server.inside().now());
    until("no repeat finds it", || {
        !compat.recent_calls.has_earlier(key, None, now)
    });
    server.generator.release_all();
    assert_eq!(other.join().unwrap().status, 200);
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn further_calls_and_retries_of_refused_ones_do_not_join_a_call_that_waits() {
    let server = start();
    let customer = server.customer("1.00");
    let call = |number| attempt_call(&server, &customer, &fast_fox(), number);
    server.generator.hold();
    let mut calls = Vec::new();
    for running in [1, 2] {
        calls.push(server.in_background(call(0)));
        server.until_running(running);
    }
    server.clock.advance(Duration::from_secs(1));
    server.pause(&["fast"]);
    assert_eq!(call(0).send().status, 503);
    server.pause(&[]);
    calls.push(server.in_background(call(1)));
    server.until_running(3);
    server.generator.release_all();
    for call in calls {
        let answer = call.join().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(!is_replay(&answer));
    }
    server.assert_money(&customer, "0.883", "0.00", "0.883");
    server.assert_settled();
}

#[test]
fn a_retry_of_an_edit_gets_the_image_when_the_balance_is_spent_and_while_the_service_is_paused() {
    let server = start();
    let texts = [("prompt", "make it blue"), ("model", "fast")];
    let body = openai_edits::form(&texts, &[("image", &sample_images::png(9, 9))]);
    let call = |customer: &Customer, number| {
        numbered(openai_edits::call(&server, customer, &body), number)
    };
    let answered = server.customer("0.039");
    let first = call(&answered, 0).expect(200);
    let waiting = server.customer("0.039");
    server.generator.hold();
    let _first = send_through_proxy(&server, &call(&waiting, 0));
    server.until_running(2);
    server.pause(&["project"]);
    let again = call(&answered, 1).expect(200);
    assert!(is_replay(&again));
    assert_eq!(again.json()["data"], first.json()["data"]);
    let again = server.in_background(call(&waiting, 1));
    until("both wait", || server.watchers() == 2);
    server.generator.release_all();
    let again = again.join().unwrap();
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(is_replay(&again));
    for customer in [answered, waiting] {
        server.assert_money(&customer, "0.00", "0.00", "0.00");
    }
    assert_eq!(server.generator.runs(), 2);
}

#[test]
fn refusals_of_other_calls_leave_the_retry_of_an_answered_call() {
    let server = start();
    let customer = server.customer("1.00");
    attempt(&server, &customer, &fast_fox(), 0);
    server.clock.advance(Duration::from_secs(1));
    let other = |body: Value| attempt_call(&server, &customer, &body, 0).send().status;
    let owl = || json!({"model": "fast", "prompt": "an owl"});
    server.generator.behave(Behaviour::Block("unsafe"));
    assert_eq!(other(owl()), 400);
    server.generator.behave(Behaviour::Break("no power"));
    assert_eq!(other(owl()), 500);
    server.generator.behave(Behaviour::Succeed);
    server.pause(&["fast"]);
    assert_eq!(other(owl()), 503);
    server.pause(&[]);
    assert_eq!(other(json!({"model": "fast"})), 400);
    assert!(is_replay(&attempt(&server, &customer, &fast_fox(), 1)));
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_retry_that_fails_while_it_looks_for_its_image_leaves_it_to_the_next() {
    let memory = Arc::new(MemoryEngine::new());
    let engine = FailingEngine::new(memory, u64::MAX, Arc::new(|_| {}));
    let engine = Arc::new(engine);
    let server = Server::with(Options::new().behind(&engine));
    let customer = server.customer("1.00");
    let account = AccountId(customer.account.parse().unwrap());
    attempt(&server, &customer, &fast_fox(), 0);
    let job = server.generator.orders()[0].job;
    engine.fail_reads_of(Some(ENDED_JOBS.key(&(account, job))));
    let failed = attempt_call(&server, &customer, &fast_fox(), 1).send();
    assert_eq!(failed.status, 503, "{}", failed.text());
    engine.fail_reads_of(None);
    assert!(is_replay(&attempt(&server, &customer, &fast_fox(), 2)));
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

fn upload(server: &Server, customer: &Customer, content: &str, number: u32) -> Answer {
    let form = upload_form(&[("purpose", "batch")], "batch.jsonl", content.as_bytes());
    let call = server.upload_call(customer, &form);
    let call = call.header("x-stainless-retry-count", &number.to_string());
    call.expect(200)
}

fn file_count(server: &Server, customer: &Customer) -> usize {
    ids(&server.v1(customer, "GET", "/files").expect(200)).len()
}

#[test]
fn a_retry_of_an_upload_gets_the_file_of_the_first_attempt() {
    let server = start();
    let customer = server.customer("1.00");
    let content = lines(&[fox("a")]);
    let first = upload(&server, &customer, &content, 0);
    assert!(!is_replay(&first));
    for number in [1, 2] {
        let again = upload(&server, &customer, &content, number);
        assert!(is_replay(&again));
        assert_eq!(again.json(), first.json());
    }
    assert_eq!(file_count(&server, &customer), 1);
    let further = upload(&server, &customer, &content, 0);
    assert_ne!(further.json()["id"], first.json()["id"]);
    let other = lines(&[fox("b")]);
    assert!(!is_replay(&upload(&server, &customer, &other, 1)));
    let stranger = server.customer("1.00");
    assert!(!is_replay(&upload(&server, &stranger, &content, 1)));
    assert_eq!(file_count(&server, &customer), 3);
    server.clock.advance(Duration::from_secs(901));
    assert!(!is_replay(&upload(&server, &customer, &content, 1)));
}

#[test]
fn a_retry_of_a_refused_upload_and_of_a_deleted_file_stores_a_file() {
    let server = start();
    let customer = server.customer("1.00");
    let content = lines(&[fox("a")]);
    let first = upload(&server, &customer, &content, 0).json();
    let path = format!("/files/{}", first["id"].as_str().expect("an id"));
    server.v1(&customer, "DELETE", &path).expect(200);
    assert!(!is_replay(&upload(&server, &customer, &content, 1)));
    server.clock.advance(Duration::from_secs(1));
    let refused = server.upload_call(&customer, &upload_form(&[], "batch.jsonl", b"{}"));
    let refused = refused.header("x-stainless-retry-count", "0");
    refused.expect(400);
    assert!(!is_replay(&upload(&server, &customer, &content, 1)));
    assert_eq!(file_count(&server, &customer), 2);
}
