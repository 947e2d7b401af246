//! The operator erases a job, or the account of a batch, whose delivery is pending: the delivery goes on, without the erased texts.

use crate::helpers::{options, server};
use crate::receiver::{Receiver, Reply};
use crate::support::batches::{entry, entry_with};
use crate::support::poll::until_some;
use crate::support::{Server, until};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;
use tintype_egress::testing::server::text;
use tintype_storage::domain::delivery::{Attempt, DeliveryId};
use tintype_storage::domain::ids::JobId;
use tintype_storage::engine::Wait as _;
use tintype_storage::testing::stalled::StalledEngine;

#[test]
fn a_pending_delivery_of_an_erased_job_is_sent_without_its_metadata() {
    let receiver = Receiver::deciding(|number, _| match number {
        0 => text(500, "no order of lovelace"),
        _ => Reply::Status(200),
    });
    let server = server();
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let extra = json!({"metadata": {"user": "lovelace"}, "callback_url": receiver.url("/")});
    let job = server.create_with(&customer, extra);
    let delivery = server.delivery_after(&job, 1);
    assert_eq!(
        delivery["attempts"][0]["response_body"],
        "no order of lovelace"
    );
    let first = receiver.once(1);
    assert!(String::from_utf8_lossy(&first[0].body).contains("lovelace"));

    server
        .admin("DELETE", &format!("/jobs/{job}/content"))
        .expect(204);
    let pending = server.delivery_after(&job, 1);
    assert_eq!(pending["status"], "pending");
    assert_eq!(pending["attempts"][0]["response_body"], "");
    assert_eq!(pending["attempts"][0]["status_code"], 500);
    let id = delivery["delivery_id"].as_str().unwrap().parse().unwrap();
    let attempts = server.inside().store.attempts(id).wait().unwrap();
    assert!(attempts.iter().all(|it| it.sent.is_none()));

    server.pass(Duration::from_secs(61));
    let delivered = server.delivery_in(&job, "delivered");
    assert_eq!(delivered["attempts"].as_array().unwrap().len(), 2);
    let sent: Value = serde_json::from_slice(&receiver.once(2)[1].body).unwrap();
    assert_eq!(
        (&sent["job_id"], &sent["metadata"]),
        (&json!(job), &Value::Null)
    );
    assert_eq!(sent["status"], "done");
    server.assert_settled();
}

/// The only text in the object store.
fn only_text(server: &Server) -> PathBuf {
    let words = fs::read_dir(server.objects().join("words")).unwrap();
    let words: Vec<_> = words.map(|it| it.unwrap().path()).collect();
    let [text] = &words[..] else {
        panic!("{words:?}");
    };
    text.clone()
}

/// An erasure deletes the text before it changes the record, and a process may die in between.
#[test]
fn a_delivery_whose_text_an_erasure_has_deleted_waits_for_the_end_of_the_erasure() {
    let receiver = Receiver::deciding(|number, _| match number {
        0 => Reply::Status(500),
        _ => Reply::Status(200),
    });
    let options = options().set("webhooks.retry_delays_seconds", vec![60]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let metadata = json!({"user": "lovelace".repeat(900)});
    let job = server.create_with(&customer, json!({"metadata": metadata}));
    server.delivery_after(&job, 1);
    fs::remove_file(only_text(&server)).unwrap();
    server.pass(Duration::from_secs(61));
    until("the delivery is due", || {
        server.unsent_attempts() > 0 || server.delivery_of(&job).unwrap()["status"] != "pending"
    });
    let pending = server.delivery_of(&job).unwrap();
    assert_eq!(pending["status"], "pending", "{pending}");
    assert_eq!(pending["attempts"].as_array().unwrap().len(), 1);

    server
        .admin("DELETE", &format!("/jobs/{job}/content"))
        .expect(204);
    let delivered = until_some("it is delivered", || {
        server.pass(Duration::from_secs(30));
        let delivery = server.delivery_of(&job)?;
        (delivery["status"] == "delivered").then_some(delivery)
    });
    assert_eq!(delivered["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(receiver.once(2)[1].json()["metadata"], Value::Null);
    server.assert_settled();
}

/// The calls of an account's erasure erase the batches, the newest first, before they delete the webhooks.
#[test]
fn a_pending_delivery_of_a_batch_is_sent_without_erased_metadata_until_the_account_is_erased() {
    let receiver = Receiver::deciding(|number, _| match number {
        0 | 1 => Reply::Status(500),
        _ => Reply::Status(200),
    });
    let options = options().set("webhooks.retry_delays_seconds", vec![60]);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let submit = || {
        let metadata = json!({"user": "lovelace".repeat(900)});
        let batch = json!({"requests": [entry()], "metadata": metadata});
        let batch = server.batch_call(&customer, &batch).expect(202).json();
        server.batch_ended(&customer, &batch);
        let id = batch["batch_id"].as_str().unwrap().to_owned();
        server.delivery_after(&id, 1);
        id
    };
    let older = submit();
    let text = only_text(&server);
    let newer = submit();
    let is_erased = |id: &str| {
        let (account, id) = (customer.account.parse().unwrap(), id.parse().unwrap());
        let batch = server.inside().store.batch(account, id).wait().unwrap();
        let (batch, _) = batch.unwrap();
        batch == batch.erased()
    };
    let erase = format!("/accounts/{}/content", customer.account);
    let mut cursor = String::new();
    until("the newer batch is erased", || {
        let call = server.admin("DELETE", &format!("{erase}?limit=1{cursor}"));
        let erased = call.expect(200).json();
        cursor = format!("&cursor={}", erased["next_cursor"].as_str().unwrap());
        is_erased(&newer)
    });
    assert!(!is_erased(&older));
    // A call that is interrupted may have deleted a text of a batch that is not erased.
    fs::remove_file(text).unwrap();
    server.pass(Duration::from_secs(61));
    let delivered = server.delivery_in(&newer, "delivered");
    assert_eq!(delivered["attempts"].as_array().unwrap().len(), 2);
    let sent = receiver.once(3)[2].json();
    assert_eq!(
        (&sent["batch_id"], &sent["metadata"]),
        (&json!(newer), &Value::Null)
    );
    until("the older delivery is due", || {
        server.unsent_attempts() > 0 || server.delivery_of(&older).unwrap()["status"] != "pending"
    });
    let pending = server.delivery_of(&older).unwrap();
    assert_eq!(pending["status"], "pending", "{pending}");
    assert_eq!(pending["attempts"].as_array().unwrap().len(), 1);

    let erased = server.admin("DELETE", &erase).expect(200).json();
    assert_eq!(erased["next_cursor"], Value::Null);
    assert!(is_erased(&older));
    let failed = until_some("the older delivery has failed", || {
        server.pass(Duration::from_secs(30));
        let delivery = server.delivery_of(&older)?;
        (delivery["status"] == "failed").then_some(delivery)
    });
    assert_eq!(failed["reason"], "webhook deleted");
    assert_eq!(receiver.count(), 3);
    server.assert_settled();
}

/// A process may die between two commits. A repeated command finds jobs by their metadata, so it finds no erased one.
#[test]
fn a_job_is_erased_after_the_requests_that_its_attempts_have_sent() {
    let receiver = Receiver::deciding(|_, _| Reply::Status(200));
    let gate = StalledEngine::in_memory();
    let server = Server::with(options().behind(&gate));
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create_with(&customer, json!({"metadata": {"user": "lovelace"}}));
    let delivery = server.delivery_in(&job, "delivered");
    let account = customer.account.parse().unwrap();
    let id: JobId = job.parse().unwrap();
    let delivery: DeliveryId = delivery["delivery_id"].as_str().unwrap().parse().unwrap();
    let store = &server.inside().store;
    let is_erased = || {
        let job = store.job(account, id).wait().unwrap();
        job.unwrap().is_erased()
    };
    let keeps_requests = || {
        let attempts = store.attempts(delivery).wait().unwrap();
        attempts.iter().any(|it| it.sent.is_some())
    };
    assert!(keeps_requests());

    gate.hold();
    let call = server.admin("DELETE", &format!("/jobs/{job}/content"));
    let call = thread::spawn(move || call.send().status);
    let mut is_interruptible = true;
    until("the erasure ends", || {
        if gate.held() > 0 {
            gate.release_one();
        }
        is_interruptible &= !is_erased() || !keeps_requests();
        call.is_finished()
    });
    gate.open();
    assert_eq!(call.join().unwrap(), 204);
    assert!(is_interruptible);
    assert!(is_erased() && !keeps_requests());
    server.assert_settled();
}

#[test]
fn a_delivery_of_an_erased_job_goes_to_no_url_but_the_one_that_the_job_named() {
    let receiver = Receiver::deciding(|_, _| Reply::Status(200));
    let server = server();
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/a"));
    let job = server.create_with(&customer, json!({"callback_url": receiver.url("/a")}));
    let delivery = server.delivery_in(&job, "delivered");
    let erase = server.admin("DELETE", &format!("/jobs/{job}/content"));
    erase.expect(204);
    let shown = server.admin("GET", &format!("/jobs/{job}")).expect(200);
    assert_eq!(shown.json()["callback_url"], Value::Null);
    let move_to = |path: &str| {
        let change = server.admin("PATCH", &format!("/webhooks/{}", webhook.id));
        let url = json!({"url": receiver.url(path)});
        change.json(&url).expect(200);
    };
    move_to("/b");
    let id = delivery["delivery_id"].as_str().unwrap();
    let redeliver = server.admin("POST", &format!("/deliveries/{id}/redeliver"));
    redeliver.refused(409, "conflict");
    assert_eq!(receiver.once(1).len(), 1);
    move_to("/a");
    server.redeliver(&delivery);
    assert_eq!(receiver.once(2)[1].target, "/a");
    server.assert_settled();
}

/// A receiver that answers once the returned sender is dropped.
fn slow_receiver() -> (Receiver, Sender<()>) {
    let (answer, wait) = channel();
    let wait = Mutex::new(wait);
    let receiver = Receiver::deciding(move |_, _| {
        // Fails once the sender is dropped.
        let _ = wait.lock().recv();
        text(200, "no order of lovelace")
    });
    (receiver, answer)
}

/// The attempts of all deliveries, once each has one.
fn attempts(server: &Server, count: usize) -> Vec<Attempt> {
    let store = &server.inside().store;
    until_some("each delivery has an attempt", || {
        let deliveries = store.deliveries(9, None).wait().unwrap().items;
        let attempts = deliveries
            .iter()
            .map(|it| store.attempts(it.id).wait().unwrap());
        let attempts: Vec<Attempt> = attempts.flatten().collect();
        (attempts.len() == count).then_some(attempts)
    })
}

#[test]
fn an_attempt_that_ends_after_the_erasure_of_its_job_keeps_no_text() {
    let (receiver, answer) = slow_receiver();
    let server = server();
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create_with(&customer, json!({"metadata": {"user": "lovelace"}}));
    let sent = receiver.once(1);
    assert!(String::from_utf8_lossy(&sent[0].body).contains("lovelace"));
    let erase = server.admin("DELETE", &format!("/jobs/{job}/content"));
    erase.expect(204);
    drop(answer);
    let delivered = server.delivery_in(&job, "delivered");
    assert_eq!(delivered["attempts"][0]["status_code"], 200);
    let attempts = attempts(&server, 1);
    assert_eq!(
        (&attempts[0].sent, &*attempts[0].response_body),
        (&None, "")
    );
    server.assert_settled();
}

#[test]
fn an_attempt_that_ends_after_the_erasure_of_its_account_keeps_no_text() {
    let server = server();
    let customer = server.customer("1.00");
    let metadata = [json!({"user": "lovelace"}), Value::Null];
    let answers = metadata.map(|metadata| {
        let (receiver, answer) = slow_receiver();
        let url = receiver.url("/");
        server.webhook(&customer, &url);
        let requests = [entry_with(json!({"prompt": "a fox"}))];
        let batch = json!({"requests": requests, "metadata": metadata, "callback_url": url});
        let batch = server.batch_call(&customer, &batch).expect(202).json();
        server.batch_ended(&customer, &batch);
        receiver.once(1);
        (answer, receiver)
    });
    let erase = format!("/accounts/{}/content", customer.account);
    let erased = server.admin("DELETE", &erase).expect(200).json();
    assert_eq!(erased["next_cursor"], Value::Null);
    let receivers = answers.map(|(_, receiver)| receiver);
    let attempts = attempts(&server, receivers.len());
    let mut kept = attempts.iter().filter_map(|it| it.sent.as_ref());
    // The other request had no text.
    assert!(kept.next().is_some_and(|it| it.body.contains("null")));
    assert_eq!(kept.next(), None);
    server.assert_settled();
}
