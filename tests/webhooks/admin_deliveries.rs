//! The operator's calls on deliveries (decision 6): list, filter, show, redeliver.

use crate::helpers::{ended, millis, server};
use crate::receiver::Receiver;
use crate::support::{Server, until};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::delivery::{
    Attempt, Delivery, DeliveryId, DeliveryKind, MAX_ATTEMPTS, NoReceiver, give_up, record_attempt,
};
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::Store;
use uuid::Uuid;

const UNKNOWN: &str = "01a1ee56-5e00-7830-9f1e-fe4a8b85c625";

fn ids(deliveries: &[Value]) -> Vec<&str> {
    let id = |it: &'_ Value| it["delivery_id"].as_str().unwrap().len();
    assert!(deliveries.iter().all(|it| id(it) == 36));
    deliveries
        .iter()
        .map(|it| it["delivery_id"].as_str().unwrap())
        .collect()
}

#[test]
fn a_delivery_on_the_wire() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let delivery = server.delivery_after(&job, 1);
    let names: Vec<&String> = delivery.as_object().unwrap().keys().collect();
    let expected = [
        "account_id",
        "attempts",
        "batch_id",
        "created_at",
        "delivery_id",
        "job_id",
        "kind",
        "next_attempt_at",
        "reason",
        "status",
        "url",
        "webhook_id",
    ];
    assert_eq!(names, expected);
    assert_eq!(delivery["account_id"], customer.account.as_str());
    assert_eq!(delivery["webhook_id"], webhook.id.as_str());
    assert_eq!(delivery["url"], receiver.url("/"));
    assert_eq!(delivery["status"], "pending");
    assert!(delivery["reason"].is_null());
    assert_eq!(delivery["created_at"], crate::support::clock::START);
    let attempt = &delivery["attempts"][0];
    let names: Vec<&String> = attempt.as_object().unwrap().keys().collect();
    let expected = [
        "at",
        "duration_ms",
        "error",
        "response_body",
        "status_code",
        "url",
    ];
    assert_eq!(names, expected);
    assert_eq!(
        millis(&delivery["next_attempt_at"]),
        ended(attempt) + 60_000
    );
    let id = delivery["delivery_id"].as_str().unwrap();
    assert_eq!(receiver.once(1)[0].only_header("webhook-id"), id);
    let shown = server.admin("GET", &format!("/deliveries/{id}"));
    assert_eq!(shown.expect(200).json(), delivery);
}

/// Two accounts: one with two webhooks, one of which refuses, and one with a single webhook.
struct Office {
    server: Server,
    _receiver: Receiver,
    accounts: [String; 2],
    refusing: String,
    refused: Vec<String>,
    taken: Vec<String>,
    others: Vec<String>,
}

fn office() -> Office {
    let receiver = Receiver::deciding(|_, delivery| {
        let refuses = delivery.line() == "POST /refuse";
        crate::receiver::Reply::Status(if refuses { 500 } else { 200 })
    });
    let server = server();
    let (customer, other) = (server.customer("9.00"), server.customer("9.00"));
    let url = receiver.url("/refuse");
    server.webhook(&customer, &receiver.url("/take"));
    let refusing = server.webhook(&customer, &url).id;
    server.webhook(&other, &receiver.url("/take"));
    let (mut refused, mut taken, mut others) = (vec![], vec![], vec![]);
    for _ in 0..3 {
        taken.push(server.create(&customer));
        refused.push(server.create_with(&customer, json!({ "callback_url": url })));
        others.push(server.create(&other));
        server.clock.advance(Duration::from_secs(1));
    }
    for job in taken.iter().chain(&others) {
        server.delivery_in(job, "delivered");
    }
    for job in &refused {
        server.delivery_after(job, 1);
    }
    Office {
        server,
        _receiver: receiver,
        accounts: [customer.account, other.account],
        refusing,
        refused,
        taken,
        others,
    }
}

#[test]
fn filters_narrow_the_list_each_and_together() {
    let office = office();
    let find = |query: String| {
        let found = office.server.deliveries(&query);
        let jobs = found
            .iter()
            .map(|it| it["job_id"].as_str().unwrap().to_owned());
        let mut jobs: Vec<String> = jobs.collect();
        assert!(jobs.is_sorted_by(|a, b| a > b), "newest first");
        jobs.sort();
        jobs
    };
    let sorted = |parts: &[&Vec<String>]| {
        let mut jobs: Vec<String> = parts.iter().flat_map(|it| it.to_vec()).collect();
        jobs.sort();
        jobs
    };
    let [account, other] = &office.accounts;
    let Office {
        refusing,
        refused,
        taken,
        others,
        ..
    } = &office;
    assert_eq!(find(String::new()), sorted(&[refused, taken, others]));
    assert_eq!(
        find(format!("account_id={account}")),
        sorted(&[refused, taken])
    );
    assert_eq!(find(format!("account_id={other}")), sorted(&[others]));
    assert_eq!(find(format!("webhook_id={refusing}")), sorted(&[refused]));
    assert_eq!(find("status=pending".into()), sorted(&[refused]));
    assert_eq!(find("status=delivered".into()), sorted(&[taken, others]));
    assert_eq!(find("status=failed".into()), sorted(&[]));
    let job = &taken[1];
    assert_eq!(find(format!("job_id={job}")), std::slice::from_ref(job));
    assert_eq!(
        find(format!("job_id={job}&account_id={other}")),
        sorted(&[])
    );
    assert_eq!(find(format!("job_id={job}&status=pending")), sorted(&[]));
    assert_eq!(
        find(format!("account_id={account}&status=delivered")),
        sorted(&[taken])
    );
    assert_eq!(find(format!("job_id={UNKNOWN}")), sorted(&[]));
    assert_eq!(find(format!("account_id={UNKNOWN}")), sorted(&[]));
}

#[test]
fn pages_contain_every_delivery_once_with_any_filter() {
    let office = office();
    for filter in [
        String::new(),
        "status=delivered&".into(),
        format!("account_id={}&", office.accounts[0]),
        format!("job_id={}&", office.taken[0]),
    ] {
        let whole = office.server.deliveries(&filter);
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        for _ in 0..20 {
            let path = format!("/deliveries?{filter}limit=2{cursor}");
            let page = office.server.admin("GET", &path).expect(200).json();
            paged.extend(page["data"].as_array().unwrap().clone());
            let Some(next) = page["next_cursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(ids(&paged), ids(&whole), "{filter}");
    }
}

#[test]
fn an_invalid_query_is_reported_by_field() {
    let server = server();
    for (query, fields) in [
        ("status=lost", &["status"][..]),
        (
            "account_id=x&job_id=&webhook_id=1",
            &["account_id", "job_id", "webhook_id"],
        ),
        ("limit=0", &["limit"]),
        ("limit=101", &["limit"]),
        ("cursor=x", &["cursor"]),
        ("state=failed", &["state"]),
    ] {
        server
            .admin("GET", &format!("/deliveries?{query}"))
            .invalid(fields);
    }
    for id in [UNKNOWN, "x"] {
        let path = format!("/deliveries/{id}");
        server.admin("GET", &path).refused(404, "not_found");
        let again = server.admin("POST", &format!("{path}/redeliver"));
        again.refused(404, "not_found");
    }
}

#[test]
fn any_delivery_can_be_sent_again_under_its_id_with_a_fresh_set_of_attempts() {
    let (server, receiver) = (server(), Receiver::statuses(&[200, 500, 200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let delivered = server.delivery_in(&job, "delivered");
    server.clock.advance(Duration::from_secs(5));
    let again = server.redeliver(&delivered);
    assert_eq!(again["status"], "pending");
    assert_eq!(again["delivery_id"], delivered["delivery_id"]);
    assert_eq!(again["attempts"], delivered["attempts"], "the log goes on");
    assert!(again["next_attempt_at"].is_string());
    let refused = server.delivery_after(&job, 2);
    let last = &refused["attempts"][1];
    assert_eq!(
        millis(&refused["next_attempt_at"]),
        ended(last) + 60_000,
        "retry 1"
    );
    server.pass(Duration::from_secs(61));
    server.delivery_in(&job, "delivered");
    let received = receiver.once(3);
    for one in &received {
        assert_eq!(
            one.only_header("webhook-id"),
            received[0].only_header("webhook-id")
        );
        assert_eq!(one.json()["job_id"], job.as_str());
        crate::checks::assert_signed(one, &webhook.secret);
    }
    server.assert_settled();
}

#[test]
fn a_failed_delivery_can_be_sent_again() {
    let (server, receiver) = (
        Server::with(
            crate::helpers::options().set("webhooks.retry_delays_seconds", Vec::<i64>::new()),
        ),
        Receiver::statuses(&[500, 200]),
    );
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let failed = server.delivery_in(&job, "failed");
    assert_eq!(failed["reason"], "attempts exhausted");
    assert!(server.redeliver(&failed)["reason"].is_null());
    server.delivery_in(&job, "delivered");
    receiver.once(2);
}

#[test]
fn a_delivery_whose_webhook_is_deleted_cannot_be_sent_again() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let delivery = server.delivery_in(&job, "delivered");
    server.remove_webhook(&webhook);
    let id = delivery["delivery_id"].as_str().unwrap();
    server
        .admin("POST", &format!("/deliveries/{id}/redeliver"))
        .refused(409, "conflict");
    assert_eq!(server.delivery_of(&job).unwrap(), delivery);
}

/// Stores a failed delivery with this many attempts.
fn add_failed(store: &Store, webhook: &Webhook, number: u128, attempts: u32) -> DeliveryId {
    let (id, now) = (Uuid::from_u128(number), webhook.created_at);
    let new = Delivery::new(DeliveryId(id), webhook, DeliveryKind::Test, id, now);
    let mut failed = give_up(&new, NoReceiver::WebhookInactive, now);
    let mut writes = store.add_delivery(&failed);
    for _ in 0..attempts {
        let attempt = Attempt::broken(0, now, Duration::ZERO, "refused");
        let after = record_attempt(&failed, &attempt, now, &[]);
        writes.extend(store.record_attempt(&failed, &after, &attempt));
        failed = after;
    }
    commit_and_wait(&**store.engine(), writes).unwrap();
    failed.id
}

#[test]
fn a_page_ends_before_it_has_too_many_attempts() {
    let server = server();
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, "https://example.com/");
    let store = &server.inside().store;
    let webhook = store.find_webhook(webhook.id.parse().unwrap());
    let webhook = webhook.wait().unwrap().unwrap();
    // One delivery has more attempts than a page.
    let attempts = [1_001, 0, 200, 200, 200, 200, 200, 1, 3];
    for (number, attempts) in (1..).zip(attempts) {
        add_failed(store, &webhook, number, attempts);
    }
    let (mut cursor, mut pages) = (String::new(), Vec::new());
    loop {
        let path = format!("/deliveries?limit=100{cursor}");
        let page = server.admin("GET", &path).expect(200).json();
        let deliveries = page["data"].as_array().unwrap().iter();
        let counts = deliveries.map(|it| it["attempts"].as_array().unwrap().len());
        pages.push(counts.collect::<Vec<_>>());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(
        pages,
        [&[3, 1, 200, 200, 200, 200][..], &[200, 0], &[1_001]]
    );
}

#[test]
fn a_delivery_with_very_many_attempts_is_not_sent_again() {
    let (server, receiver) = (server(), Receiver::statuses(&[200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let store = &server.inside().store;
    let webhook = store.find_webhook(webhook.id.parse().unwrap());
    let webhook = webhook.wait().unwrap().unwrap();
    let add = |number, attempts| add_failed(store, &webhook, number, attempts);
    let (most, fewer) = (add(1, MAX_ATTEMPTS), add(2, MAX_ATTEMPTS - 1));
    let again = |id: DeliveryId| server.admin("POST", &format!("/deliveries/{id}/redeliver"));
    let refused = again(most).refused(409, "conflict");
    assert!(
        refused.text().contains("200 attempts"),
        "{}",
        refused.text()
    );
    let failed = server.admin("GET", &format!("/deliveries/{most}"));
    assert_eq!(failed.expect(200).json()["status"], "failed");
    let range = server.admin("POST", &format!("/webhooks/{}/redeliver", webhook.id));
    let sent = range.json(&json!({})).expect(202).json();
    assert_eq!(
        sent,
        json!({"redelivered": 1, "more": false, "next_cursor": null})
    );
    receiver.once(1);
    let delivered = || {
        let found = store.delivery(fewer).wait().unwrap().unwrap();
        found.attempts == MAX_ATTEMPTS
    };
    until("its attempt is recorded", delivered);
    again(fewer).refused(409, "conflict");
}

#[test]
fn failed_deliveries_of_a_webhook_are_sent_again_by_creation_time() {
    let refuse = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let refuses = std::sync::Arc::clone(&refuse);
    let receiver = Receiver::deciding(move |_, _| {
        let refuses = refuses.load(std::sync::atomic::Ordering::SeqCst);
        crate::receiver::Reply::Status(if refuses { 500 } else { 200 })
    });
    let options = crate::helpers::options().set("webhooks.retry_delays_seconds", Vec::<i64>::new());
    let server = Server::with(options);
    let customer = server.customer("9.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let mut jobs = Vec::new();
    for _ in 0..4 {
        let job = server.create(&customer);
        server.delivery_in(&job, "failed");
        jobs.push(job);
        server.clock.advance(Duration::from_secs(60));
    }
    refuse.store(false, std::sync::atomic::Ordering::SeqCst);
    let again = |body: Value| {
        let path = format!("/webhooks/{}/redeliver", webhook.id);
        server.admin("POST", &path).json(&body)
    };
    again(json!({"from": "yesterday", "until": 1})).invalid(&["from", "until"]);
    let range = json!({"from": "2026-11-18T11:07:40.001Z", "to": "2026-11-18T11:08:40.001Z"});
    assert_eq!(
        again(range.clone()).expect(202).json(),
        json!({"redelivered": 2, "more": false, "next_cursor": null})
    );
    for job in &jobs[1..=2] {
        server.delivery_in(job, "delivered");
    }
    for job in [&jobs[0], &jobs[3]] {
        assert_eq!(server.delivery_of(job).unwrap()["status"], "failed");
    }
    assert_eq!(
        again(range).expect(202).json(),
        json!({"redelivered": 0, "more": false, "next_cursor": null})
    );
    assert_eq!(
        again(json!({})).expect(202).json(),
        json!({"redelivered": 2, "more": false, "next_cursor": null})
    );
    until("all have arrived", || receiver.count() == 8);
    server.assert_settled();
}

#[test]
fn a_delivery_log_too_long_for_one_call_is_sent_again_in_parts() {
    let server = server();
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, "https://example.com/");
    let store = &server.inside().store;
    let webhook = store
        .find_webhook(webhook.id.parse().unwrap())
        .wait()
        .unwrap();
    let webhook = webhook.unwrap();
    let numbers: Vec<u128> = (1..=10_020).collect();
    for part in numbers.chunks(500) {
        let records = part.iter().flat_map(|number| {
            let id = Uuid::from_u128(*number);
            let now = server.inside().now();
            let test = Delivery::new(DeliveryId(id), &webhook, DeliveryKind::Test, id, now);
            store.add_delivery(&give_up(&test, NoReceiver::WebhookDeleted, now))
        });
        commit_and_wait(&**store.engine(), records.collect()).unwrap();
    }
    let path = format!("/webhooks/{}/redeliver", webhook.id);
    let again = |body: Value| server.admin("POST", &path).json(&body);
    let part = again(json!({})).expect(202).json();
    assert_eq!(
        (&part["redelivered"], &part["more"]),
        (&json!(10_000), &json!(true))
    );
    // Starting from the newest again redelivers nothing new, but reports that there is more. No body is no restriction.
    let same = server.admin("POST", &path).expect(202).json();
    assert_eq!(
        (&same["redelivered"], &same["more"]),
        (&json!(0), &json!(true))
    );
    let rest = json!({"cursor": part["next_cursor"]});
    assert_eq!(
        again(rest).expect(202).json(),
        json!({"redelivered": 20, "more": false, "next_cursor": null})
    );
    again(json!({"cursor": "next"})).invalid(&["cursor"]);
}
