//! Specification, "Retries": the whole service on a clock that the test advances. `schedule` tests the exact times.

use crate::checks::assert_signed;
use crate::helpers::{ended, millis, server};
use crate::receiver::Receiver;
use crate::support::Server;
use serde_json::Value;
use std::time::Duration;

/// Minutes after the previous attempt.
const TABLE: [u64; 6] = [1, 2, 5, 10, 15, 20];

/// Runs all attempts and checks each time against the table.
fn walk(server: &Server, job: &str, attempts: usize) {
    for attempt in 1..=attempts {
        let delivery = server.delivery_after(job, attempt);
        if attempt == attempts {
            return;
        }
        let minutes = TABLE[attempt - 1];
        let due = ended(delivery["attempts"].as_array().unwrap().last().unwrap())
            + (minutes * 60_000) as i64;
        assert_eq!(
            millis(&delivery["next_attempt_at"]),
            due,
            "retry {attempt} comes {minutes} min after the end of the attempt before"
        );
        // One millisecond early, no attempt starts.
        let now = |server: &Server| millis(&Value::from(server.inside().now().to_string()));
        server.pass(Duration::from_millis((due - now(server) - 1) as u64));
        assert_eq!(server.delivery_of(job).unwrap(), delivery);
        server.pass(Duration::from_millis(1));
    }
}

#[test]
fn retries_1_to_6_follow_the_table_and_the_seventh_attempt_may_succeed() {
    let (server, receiver) = (
        server(),
        Receiver::statuses(&[500, 500, 500, 500, 500, 500, 200]),
    );
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let began = server.clock.seconds();
    let job = server.create(&customer);
    walk(&server, &job, 7);
    let delivery = server.delivery_in(&job, "delivered");
    let codes: Vec<&Value> = delivery["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status_code"])
        .collect();
    assert_eq!(codes, [500, 500, 500, 500, 500, 500, 200]);
    let minutes = (server.clock.seconds() - began) / 60;
    assert_eq!(minutes, 53, "about 53 minutes");
    for received in receiver.once(7) {
        assert_signed(&received, &webhook.secret);
        assert_eq!(received.json()["job_id"], job.as_str());
    }
    server.assert_settled();
}

#[test]
fn after_7_attempts_the_webhook_is_marked_failed() {
    let (server, receiver) = (server(), Receiver::statuses(&[503]));
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    walk(&server, &job, 7);
    let delivery = server.delivery_in(&job, "failed");
    assert_eq!(delivery["reason"], "attempts exhausted");
    assert!(delivery["next_attempt_at"].is_null());
    server.pass(Duration::from_secs(7 * 86_400));
    // A due attempt would have started before this one.
    let other = server.create(&customer);
    server.delivery_after(&other, 1);
    assert_eq!(receiver.count(), 8, "seven and the other job's one");
    server.assert_settled();
}

#[test]
fn decision_4_no_status_and_no_header_moves_the_retries() {
    use crate::receiver::{Reply, response};
    for (status, header) in [
        (410, ""),
        (429, "Retry-After: 1\r\n"),
        (503, "Retry-After: 86400\r\n"),
        (429, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
    ] {
        let receiver = Receiver::always(Reply::Raw(response(status, header, b"later")));
        let server = server();
        let customer = server.customer("1.00");
        server.webhook(&customer, &receiver.url("/"));
        let job = server.create(&customer);
        walk(&server, &job, 3);
        assert_eq!(receiver.count(), 3);
    }
}

#[test]
fn each_delivery_is_handled_independently() {
    let receiver = Receiver::deciding(|_, delivery| {
        let refused = delivery.json()["metadata"]["refuse"] == true;
        crate::receiver::Reply::Status(if refused { 500 } else { 200 })
    });
    let server = server();
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let refused = server.create_with(&customer, serde_json::json!({"metadata": {"refuse": true}}));
    server.delivery_after(&refused, 1);
    let taken = server.create(&customer);
    let delivery = server.delivery_in(&taken, "delivered");
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(server.delivery_of(&refused).unwrap()["status"], "pending");
}
