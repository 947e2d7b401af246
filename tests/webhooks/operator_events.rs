//! Decisions 14: signed events for the operator, at the webhook in the configuration.

use crate::checks::assert_signed;
use crate::receiver::{ReceivedRequest, Receiver, Reply};
use crate::support::generator::Behaviour;
use crate::support::{Customer, OneNode, Options, Server, fox_with};
use serde_json::{Value, json};
use std::time::Duration;

const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// The operator's receiver is on loopback, which customers' webhooks may not reach in this test.
fn options(receiver: &Receiver) -> Options {
    Options::new()
        .set("operator.webhook_url", receiver.url("/ops"))
        .set("operator.webhook_secret", SECRET)
        .set("operator.disk_low_bytes", 0)
        .set("webhooks.retry_delays_seconds", Vec::<i64>::new())
}

fn low_balance(server: &Server, customer: &Customer, amount: &str) {
    let path = format!("/accounts/{}", customer.account);
    let body = json!({ "low_balance": amount });
    server.admin("PATCH", &path).json(&body).expect(200);
}

fn deposit(server: &Server, customer: &Customer, amount: &str) {
    let path = format!("/accounts/{}/deposits", customer.account);
    let body = json!({ "amount": amount });
    server.admin("POST", &path).json(&body).expect(201);
}

fn done(server: &Server, customer: &Customer) {
    let job = server.create(customer);
    server.job_once(customer, &job, "done");
}

/// Checks an event's signature and its entry in the list of deliveries; returns its type and data.
#[track_caller]
fn event(server: &Server, received: &ReceivedRequest) -> (String, Value) {
    assert_eq!(received.line(), "POST /ops");
    assert_signed(received, SECRET);
    let body = received.json();
    assert_eq!(body["version"], 1);
    assert!(body["created_at"].as_str().unwrap().ends_with('Z'));
    let found = server.deliveries("limit=100");
    let delivery = found
        .iter()
        .find(|it| it["delivery_id"] == received.only_header("webhook-id"))
        .expect("it is in the log");
    assert_eq!(delivery["kind"], "operator");
    assert_eq!(
        (&delivery["job_id"], &delivery["batch_id"]),
        (&Value::Null, &Value::Null)
    );
    (
        body["type"].as_str().unwrap().to_owned(),
        body["data"].clone(),
    )
}

#[test]
fn decisions_14_a_low_balance_is_reported_once_until_it_is_above_again() {
    let receiver = Receiver::content();
    let server = Server::with(options(&receiver));
    let customer = server.customer("1.00");
    low_balance(&server, &customer, "0.80");
    done(&server, &customer);
    assert_eq!(receiver.count(), 0, "0.866 is left");
    done(&server, &customer);
    let (word, data) = event(&server, &receiver.once(1)[0]);
    assert_eq!(word, "account.low_balance");
    assert_eq!(data["account_id"], customer.account.as_str());
    assert_eq!(
        (&data["available"], &data["low_balance"]),
        (&json!("0.732"), &json!("0.80"))
    );
    // A lower balance sends no second event.
    low_balance(&server, &customer, "0.90");
    deposit(&server, &customer, "0.01");
    deposit(&server, &customer, "1.00");
    assert_eq!(receiver.count(), 1);
    // A correction counts like a charge.
    deposit(&server, &customer, "-1.00");
    let (word, data) = event(&server, &receiver.once(2)[1]);
    assert_eq!(
        (word.as_str(), &data["available"]),
        ("account.low_balance", &json!("0.742"))
    );
    server.assert_settled();
}

#[test]
fn decisions_14_a_delivery_that_used_all_attempts_is_reported_and_the_report_is_not() {
    let broken = Receiver::always(Reply::Status(500));
    let receiver = Receiver::always(Reply::Status(503));
    let server = Server::with(options(&receiver).allow_loopback());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &broken.url("/hook"));
    let job = server.create(&customer);
    let (word, data) = event(&server, &receiver.once(1)[0]);
    assert_eq!(word, "delivery.failed");
    let expected = json!({
        "delivery_id": job,
        "account_id": customer.account,
        "webhook_id": webhook.id,
        "url": broken.url("/hook"),
        "job_id": job,
        "batch_id": null,
        "attempts": 1,
        "status_code": 500,
        "error": null,
    });
    assert_eq!(data, expected);
    // A failed test delivery is no event, because the operator sees its result.
    let test = format!("/webhooks/{}/test", webhook.id);
    server.admin("POST", &test).expect(202);
    crate::support::until("all have failed", || {
        let found = server.deliveries("status=failed");
        found.len() == 3
    });
    server.assert_settled();
    assert_eq!(receiver.count(), 1);
}

#[test]
fn decisions_14_a_failed_event_can_be_sent_again() {
    let receiver = Receiver::statuses(&[500, 200]);
    let server = Server::with(options(&receiver));
    let sent = server.admin("POST", "/operator-webhook/test").expect(202);
    let id = sent.json()["delivery_id"].as_str().unwrap().to_owned();
    let status = |wanted: &str| {
        let found = server.deliveries(&format!("status={wanted}"));
        found.iter().any(|it| it["delivery_id"] == id.as_str())
    };
    crate::support::until("it has failed", || status("failed"));
    let path = format!("/deliveries/{id}/redeliver");
    server.admin("POST", &path).expect(202);
    crate::support::until("it has arrived", || status("delivered"));
    let received = receiver.once(2);
    assert_eq!(
        received[0].only_header("webhook-id"),
        received[1].only_header("webhook-id")
    );
    assert_eq!(received[0].body, received[1].body);
    server.assert_settled();
}

#[test]
fn decisions_14_a_backend_that_goes_down_and_comes_up_after_a_restart_is_reported() {
    let receiver = Receiver::content();
    let server = Server::with(options(&receiver).on_disk());
    let customer = server.customer("10.00");
    let generator = &server.generator;
    generator.behave(Behaviour::Transient("connection refused"));
    for _ in 0..5 {
        let job = server.create(&customer);
        server.job_once(&customer, &job, "failed");
    }
    let (word, data) = event(&server, &receiver.once(1)[0]);
    assert_eq!(word, "backend.down");
    assert_eq!(
        (&data["backend"], &data["failures"]),
        (&json!("builtin"), &json!(5))
    );
    assert!(
        data["error"]
            .as_str()
            .unwrap()
            .contains("connection refused"),
        "{data}"
    );
    let reported = receiver.once(1)[0].json()["created_at"].clone();
    generator.behave(Behaviour::Succeed);
    let server = server.restart();
    done(&server, &customer);
    let (word, data) = event(&server, &receiver.once(2)[1]);
    assert_eq!(word, "backend.up");
    assert_eq!(data, json!({"backend": "builtin", "down_since": reported}));
    server.assert_settled();
}

#[test]
fn decisions_14_a_low_disk_is_reported_once_over_restarts() {
    let receiver = Receiver::content();
    let all = 1_i64 << 60;
    let options = options(&receiver).set("operator.disk_low_bytes", all);
    let server = Server::with(options.on_disk());
    let (word, data) = event(&server, &receiver.once(1)[0]);
    assert_eq!(
        (word.as_str(), &data["low_bytes"]),
        ("disk.low", &json!(all))
    );
    assert!(data["free_bytes"].as_u64().unwrap() < all as u64);
    let server = server.restart();
    // The next call triggers a disk check first.
    server.admin("POST", "/operator-webhook/test").expect(202);
    let (word, data) = event(&server, &receiver.once(2)[1]);
    assert_eq!((word.as_str(), &data), ("test", &json!({})));
    server.assert_settled();
}

#[test]
fn decisions_14_an_event_that_was_not_sent_survives_a_restart() {
    let receiver = Receiver::statuses(&[500, 200]);
    let retrying = options(&receiver).set("webhooks.retry_delays_seconds", vec![60]);
    let server = Server::with(retrying.on_disk());
    server.admin("POST", "/operator-webhook/test").expect(202);
    crate::support::until("the first attempt is on record", || {
        let found = server.deliveries("limit=1");
        found[0]["attempts"].as_array().unwrap().len() == 1
    });
    let options = server.stop();
    options.clock.advance(Duration::from_secs(61));
    let server = Server::with(options);
    let received = receiver.once(2);
    assert_eq!(
        received[0].only_header("webhook-id"),
        received[1].only_header("webhook-id")
    );
    server.assert_settled();
}

#[test]
fn the_test_call_is_for_a_configured_webhook_once_a_minute() {
    let bare = Server::start();
    let answer = bare.admin("POST", "/operator-webhook/test").expect(409);
    assert!(
        answer.json()["detail"]
            .as_str()
            .unwrap()
            .contains("webhook_url")
    );
    let receiver = Receiver::content();
    let server = Server::with(options(&receiver).one_node(OneNode::Attempts));
    let sent = server
        .admin("POST", "/operator-webhook/test")
        .expect(202)
        .json();
    assert_eq!(
        (&sent["kind"], &sent["status"]),
        (&json!("operator"), &json!("pending"))
    );
    server.admin("POST", "/operator-webhook/test").expect(429);
    assert_eq!(event(&server, &receiver.once(1)[0]).0, "test");
    let line = server.admin("GET", "/audit?limit=1").expect(200).json()["data"][0].clone();
    assert_eq!(
        (&line["action"], &line["account_id"]),
        (&json!("webhook.test"), &Value::Null)
    );
    server.assert_settled();
}

#[test]
fn without_a_configured_webhook_no_event_is_stored() {
    let server = Server::start();
    let customer = server.customer("1.00");
    low_balance(&server, &customer, "0.99");
    let body = fox_with(json!({}));
    server
        .generation(&customer, "/text-generations", &body)
        .expect(202);
    server.assert_settled();
    assert_eq!(server.deliveries("limit=1").len(), 0);
}
