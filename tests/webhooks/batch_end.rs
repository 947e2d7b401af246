//! Decisions 12: a batch sends one webhook, when its last job is terminal.

use crate::checks::{assert_documented, assert_signed};
use crate::helpers::server;
use crate::receiver::Receiver;
use crate::support::batches::{batch_of, entry, entry_with};
use crate::support::poll::until_some;
use crate::support::{Options, Server};
use serde_json::{Value, json};

/// Waits for the only delivery of a batch.
fn delivered(server: &Server, batch: &Value) -> Value {
    let id = batch["batch_id"].as_str().unwrap();
    until_some("the batch's delivery has arrived", || {
        let found = server.deliveries("limit=100");
        let mut found = found.into_iter().filter(|it| it["batch_id"] == id);
        let delivery = found.next()?;
        assert!(found.next().is_none(), "more than one");
        (delivery["status"] == "delivered").then_some(delivery)
    })
}

#[test]
fn once_the_last_job_is_terminal_one_signed_delivery_is_sent() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("10.00");
    let webhook = server.webhook(&customer, &receiver.url("/oldest"));
    let named = server.webhook(&customer, &receiver.url("/named"));
    server.generator.hold();
    let mut body = batch_of(&vec![entry(); 20]);
    body["metadata"] = json!({"catalogue": "autumn", "_own": 1, "deep": {"_kept": 2}});
    let batch = server.batch_call(&customer, &body).expect(202).json();
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    let delivery = delivered(&server, &batch);
    assert_eq!(delivery["webhook_id"], webhook.id.as_str());
    assert_eq!(delivery["job_id"], Value::Null);
    assert_eq!(delivery["delivery_id"], batch["batch_id"]);
    let received = receiver.once(1);
    assert_signed(&received[0], &webhook.secret);
    let expected = json!({
        "batch_id": batch["batch_id"],
        "status": "ended",
        "counts": ended["counts"],
        "metadata": {"catalogue": "autumn", "deep": {"_kept": 2}},
    });
    assert_eq!(received[0].json(), expected);
    assert_documented(server.address, "batchEnded", &expected);
    // `callback_url` selects the webhook, as for a job.
    body["callback_url"] = json!(receiver.url("/named"));
    let second = server.batch_call(&customer, &body).expect(202).json();
    let delivery = delivered(&server, &second);
    assert_eq!(delivery["webhook_id"], named.id.as_str());
    let received = receiver.once(2);
    assert_eq!(received[1].line(), "POST /named");
    assert_signed(&received[1], &named.secret);
    server.assert_settled();
}

#[test]
fn the_delivery_of_a_batch_is_found_by_the_batch_and_by_its_jobs() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("10.00");
    let stranger = server.customer("10.00");
    server.webhook(&customer, &receiver.url("/"));
    let single = server.create(&customer);
    server.delivery_in(&single, "delivered");
    let batch = server.submit(&customer, &vec![entry(); 2]);
    let only = [delivered(&server, &batch)["delivery_id"].clone()];
    let jobs = server.results(&customer, &batch);
    let jobs = jobs.iter().map(|it| &it["job_id"]);
    let browser = server.operators_browser();
    for of in jobs.chain([&batch["batch_id"]]) {
        let of = of.as_str().unwrap();
        let found = |filter: &str| {
            let found = server.deliveries(&format!("job_id={of}{filter}"));
            let ids = found.iter().map(|it| it["delivery_id"].clone());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(found(""), only);
        assert_eq!(found("&status=delivered"), only);
        assert_eq!(found("&status=failed"), [Value::Null; 0]);
        assert_eq!(found(&format!("&account_id={}", customer.account)), only);
        assert_eq!(
            found(&format!("&account_id={}", stranger.account)),
            [Value::Null; 0]
        );
        for (account, expected) in [(&customer.account, 1), (&stranger.account, 0)] {
            let path = format!("/accounts/{account}/deliveries?job_id={of}");
            let shown = browser.call(&server, "GET", &path).expect(200).json();
            assert_eq!(shown["data"].as_array().unwrap().len(), expected);
        }
    }
    server.assert_settled();
}

#[test]
fn jobs_of_a_batch_send_no_deliveries() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("10.00");
    server.webhook(&customer, &receiver.url("/"));
    let batch = server.submit(&customer, &vec![entry(); 5]);
    delivered(&server, &batch);
    server.assert_settled();
    assert_eq!(server.deliveries("limit=100").len(), 1);
    assert_eq!(receiver.count(), 1);
}

#[test]
fn a_canceled_batch_sends_one_delivery_at_its_end() {
    let server = Server::with(Options::new().allow_loopback().slots(1));
    let receiver = Receiver::content();
    let customer = server.customer("10.00");
    server.webhook(&customer, &receiver.url("/"));
    server.generator.hold();
    let batch = server.submit(&customer, &vec![entry_with(json!({})); 4]);
    crate::support::until("one runs", || server.generator.runs() == 1);
    let path = format!("/batches/{}", batch["batch_id"].as_str().unwrap());
    server.native(&customer, "DELETE", &path).expect(200);
    assert_eq!(receiver.count(), 0, "one still runs");
    server.generator.release_all();
    delivered(&server, &batch);
    let counts = receiver.once(1)[0].json()["counts"].clone();
    assert_eq!((&counts["done"], &counts["failed"]), (&json!(1), &json!(3)));
    server.assert_settled();
    assert_eq!(receiver.count(), 1);
}

#[test]
fn a_failed_delivery_of_a_batch_is_retried() {
    let (server, receiver) = (server(), Receiver::statuses(&[503, 200]));
    let customer = server.customer("10.00");
    server.webhook(&customer, &receiver.url("/"));
    let batch = server.submit(&customer, &[entry()]);
    crate::support::until("the first attempt is on record", || {
        let delivery = server.deliveries("limit=100");
        delivery
            .iter()
            .any(|it| it["attempts"][0]["status_code"] == 503)
    });
    // A delay starts at the end of the previous attempt, which took some time.
    server.pass(std::time::Duration::from_secs(70));
    let delivery = delivered(&server, &batch);
    let statuses: Vec<&Value> = delivery["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["status_code"])
        .collect();
    assert_eq!(statuses, [&json!(503), &json!(200)]);
}
