//! Callers who go away while they wait.

use crate::desk::{Told, fox, picture, with_picture};
use crate::support::raw::Wire;
use crate::support::{Customer, Options, Server, until};
use serde_json::Value;

fn one_place() -> Server {
    Server::with(Options::new().set("backends.builtin.concurrency", 1))
}

/// Sends a call and does not read on.
fn leave_waiting(server: &Server, customer: &Customer, method: &str, body: &Value) -> Wire {
    let request = server
        .post(&format!("/v1beta/models/fast:{method}"))
        .header("x-goog-api-key", &customer.key)
        .json(body);
    let mut wire = Wire::open(server.address);
    wire.send(&request.wire());
    wire
}

#[test]
fn one_whose_job_has_not_started_has_it_canceled_and_released() {
    for (how, method) in [
        ("close", "generateContent"),
        ("reset", "generateContent"),
        ("close", "streamGenerateContent?alt=sse"),
    ] {
        let server = one_place();
        let customer = server.customer("1.00");
        server.generator.hold();
        let first = server.in_background(server.gemini(&customer, "fast", &fox()));
        server.until_running(1);
        let body = with_picture(&picture(9, 9));
        let wire = leave_waiting(&server, &customer, method, &body);
        server.until_live(2);
        server.assert_money(&customer, "1.00", "0.078", "0.922");
        match how {
            "reset" => wire.reset(),
            _ => drop(wire),
        }
        server.until_live(1);
        server.assert_money(&customer, "1.00", "0.039", "0.961");
        server.generator.release_all();
        first.join().unwrap().picture();
        assert_eq!(server.generator.runs(), 1);
        server.assert_settled();
        let left = || {
            server
                .objects_left()
                .iter()
                .any(|key| key.starts_with("inputs"))
        };
        until("its input is gone", || !left());
    }
}

#[test]
fn one_whose_job_has_started_has_it_finished_kept_and_charged() {
    let server = one_place();
    let customer = server.customer("1.00");
    server.generator.hold();
    let wire = leave_waiting(&server, &customer, "generateContent", &fox());
    server.until_running(1);
    drop(wire);
    server.generator.release_all();
    server.until_live(0);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
    let kept = server.objects_left();
    assert!(
        kept.iter().any(|key| key.starts_with("results")),
        "{kept:?}"
    );
}

/// Some clients do so by themselves when a connection breaks.
#[test]
fn one_who_comes_back_with_the_same_request_gets_the_picture_of_the_first() {
    let server = one_place();
    let customer = server.customer("1.00");
    server.generator.hold();
    let body = with_picture(&picture(9, 9));
    let wire = leave_waiting(&server, &customer, "generateContent", &body);
    server.until_running(1);
    drop(wire);
    until("it is noticed", || server.watchers() == 0);
    let back = server.in_background(server.gemini(&customer, "fast", &body));
    until("it waits again", || server.watchers() == 1);
    server.generator.release_all();
    let answer = back.join().unwrap();
    answer.picture();
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    // Once it has been handed over, the same request is a new one.
    server.gemini(&customer, "fast", &body).expect(200);
    assert_eq!(server.generator.runs(), 2);
    server.assert_settled();
}

#[test]
fn nobody_else_and_no_other_request_gets_it() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let other_key = server.another_key(&customer.account, serde_json::json!({}));
    server.generator.hold();
    let wire = leave_waiting(&server, &customer, "generateContent", &fox());
    server.until_running(1);
    drop(wire);
    until("it is noticed", || server.watchers() == 0);
    server.generator.release_all();
    server.until_live(0);
    server.gemini(&other_key, "fast", &fox()).expect(200);
    let other = crate::desk::asking("another fox");
    server.gemini(&customer, "fast", &other).expect(200);
    server.gemini(&customer, "pro", &fox()).expect(200);
    assert_eq!(server.generator.runs(), 4);
    let answer = server.gemini(&customer, "gemini-2.5-flash-image", &fox());
    let answer = answer.expect(200);
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 4);
    server.assert_settled();
}

#[test]
fn one_who_leaves_in_the_middle_of_the_body_leaves_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let request = server.gemini(&customer, "fast", &with_picture(&picture(600, 600)));
    let bytes = request.wire();
    for share in [2, 3, 5] {
        let mut wire = Wire::open(server.address);
        wire.send(&bytes[..bytes.len() * (share - 1) / share]);
        drop(wire);
    }
    server.gemini(&customer, "fast", &fox()).expect(200);
    let left = || {
        server
            .objects_left()
            .iter()
            .any(|key| key.starts_with("inputs"))
    };
    until("nothing is left", || !left());
    assert_eq!(server.generator.runs(), 1);
}

#[test]
fn another_who_waits_for_the_same_job_keeps_it() {
    let server = one_place();
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let named = |server: &Server| server.gemini(&customer, "fast", &fox()).idempotent("k");
    let mut leaving = Wire::open(server.address);
    leaving.send(&named(&server).wire());
    server.until_live(2);
    let staying = server.in_background(named(&server));
    until("both wait", || server.watchers() == 3);
    drop(leaving);
    until("one has gone", || server.watchers() == 2);
    server.generator.release_all();
    first.join().unwrap().picture();
    staying.join().unwrap().picture();
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}
