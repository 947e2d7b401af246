//! Specification, "Delivery": the headers of an attempt, and what makes it a success.

use crate::checks::assert_signed;
use crate::helpers::server;
use crate::receiver::{Receiver, Reply, response};
use crate::support::Behaviour;
use std::time::Duration;

#[test]
fn one_post_with_a_json_body_per_attempt() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/hook"));
    let job = server.create(&customer);
    server.delivery_in(&job, "delivered");
    let received = receiver.once(1);
    assert_eq!(received[0].line(), "POST /hook");
    assert_eq!(received[0].json()["job_id"], job.as_str());
}

#[test]
fn content_type() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    server.create(&customer);
    let received = receiver.once(1);
    assert_eq!(received[0].only_header("content-type"), "application/json");
    let agent = received[0].only_header("user-agent");
    assert_eq!(agent, concat!("tintype/", env!("CARGO_PKG_VERSION")));
    assert_eq!(
        received[0].only_header("host"),
        receiver.url("").trim_start_matches("http://")
    );
}

#[test]
fn x_signature() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    server.create(&customer);
    let received = receiver.once(1);
    let hex = received[0]
        .only_header("x-signature")
        .strip_prefix("sha256=");
    let hex = hex.expect("sha256=");
    let lower = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    assert!(hex.len() == 64 && hex.chars().all(lower), "{hex}");
    assert_signed(&received[0], &webhook.secret);
}

#[test]
fn x_timestamp_is_fresh_on_each_attempt() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 500, 200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let mut sent_at = Vec::new();
    for (attempt, wait) in [(1, 60), (2, 121), (3, 0)] {
        server.delivery_after(&job, attempt);
        sent_at.push(server.clock.seconds().to_string());
        server.pass(Duration::from_secs(wait + 1));
    }
    server.delivery_in(&job, "delivered");
    let received = receiver.once(3);
    for (delivery, sent_at) in received.iter().zip(&sent_at) {
        assert_eq!(delivery.only_header("x-timestamp"), sent_at);
        assert_signed(delivery, &webhook.secret);
        assert_eq!(
            delivery.only_header("webhook-id"),
            received[0].only_header("webhook-id"),
            "the same over all attempts"
        );
    }
    assert_ne!(sent_at[0], sent_at[1]);
}

#[test]
fn any_2xx_status_succeeds() {
    for status in [200, 201, 202, 204, 226, 299] {
        let (server, receiver) = (server(), Receiver::statuses(&[status]));
        let customer = server.customer("1.00");
        server.webhook(&customer, &receiver.url("/"));
        let job = server.create(&customer);
        let delivery = server.delivery_in(&job, "delivered");
        assert_eq!(delivery["attempts"][0]["status_code"], status);
        assert!(delivery["next_attempt_at"].is_null(), "{delivery}");
        assert!(delivery["reason"].is_null(), "{delivery}");
        receiver.once(1);
    }
}

#[test]
fn any_other_status_triggers_a_retry() {
    let statuses = [
        300, 301, 302, 304, 307, 400, 401, 404, 410, 422, 429, 500, 502, 503, 599,
    ];
    let server = server();
    let customer = server.customer("10.00");
    for status in statuses {
        let receiver = Receiver::statuses(&[status]);
        let url = receiver.url("/");
        server.webhook(&customer, &url);
        let job = server.create_with(&customer, serde_json::json!({ "callback_url": url }));
        let delivery = server.delivery_after(&job, 1);
        assert_eq!(delivery["status"], "pending", "{status}");
        assert_eq!(delivery["attempts"][0]["status_code"], status);
        assert!(delivery["next_attempt_at"].is_string(), "{delivery}");
        receiver.once(1);
    }
    server.assert_settled();
}

#[test]
fn a_redirect_is_not_followed() {
    let target = Receiver::content();
    let location = format!("Location: {}\r\n", target.url("/elsewhere"));
    for status in [300, 301, 302, 303, 307, 308] {
        let receiver = Receiver::always(Reply::Raw(response(status, &location, b"")));
        let server = server();
        let customer = server.customer("1.00");
        server.webhook(&customer, &receiver.url("/"));
        let job = server.create(&customer);
        let delivery = server.delivery_after(&job, 1);
        assert_eq!(delivery["attempts"][0]["status_code"], status);
        assert_eq!(delivery["status"], "pending");
    }
    assert_eq!(target.count(), 0);
}

#[test]
fn a_failed_job_is_delivered_too_and_a_canceled_one() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    server
        .generator
        .behave(Behaviour::Refuse("the prompt asks for nothing"));
    let job = server.create(&customer);
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(1)[0].json()["status"], "failed");
    server.assert_settled();
}
