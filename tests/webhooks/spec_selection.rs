//! Specification, "Choosing the receiving webhook"; decision 4, when it is chosen.

use crate::checks::assert_signed;
use crate::helpers::{Webhook, server};
use crate::receiver::Receiver;
use crate::support::{Server, fox_with};
use serde_json::json;

#[test]
fn without_callback_url_the_one_registered_webhook_receives() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/a"));
    let job = server.create(&customer);
    let received = receiver.once(1);
    assert_eq!(received[0].line(), "POST /a");
    assert_signed(&received[0], &webhook.secret);
    let delivery = server.delivery_in(&job, "delivered");
    assert_eq!(delivery["webhook_id"], webhook.id.as_str());
    server.assert_settled();
}

#[test]
fn without_callback_url_the_oldest_of_several_receives() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let oldest = server.webhook(&customer, &receiver.url("/oldest"));
    server.webhook(&customer, &receiver.url("/newer"));
    server.webhook(&customer, &receiver.url("/a-newest"));
    let job = server.create(&customer);
    server.delivery_in(&job, "delivered");
    let received = receiver.once(1);
    assert_eq!(received[0].line(), "POST /oldest");
    assert_signed(&received[0], &oldest.secret);
    // Changes do not affect its age.
    let path = format!("/webhooks/{}", oldest.id);
    let moved = json!({"url": receiver.url("/moved")});
    server.admin("PATCH", &path).json(&moved).expect(200);
    server.create(&customer);
    assert_eq!(receiver.once(2)[1].line(), "POST /moved");
}

#[test]
fn callback_url_that_is_registered_receives_under_its_own_secret() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/oldest"));
    let url = receiver.url("/named?x=1");
    let named = server.webhook(&customer, &url);
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    server.delivery_in(&job, "delivered");
    let received = receiver.once(1);
    assert_eq!(received[0].line(), "POST /named?x=1");
    assert_signed(&received[0], &named.secret);
}

#[test]
fn hostile_107_callback_url_that_is_not_registered_exactly_is_refused() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let other = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/hook"));
    server.webhook(&other, &receiver.url("/of-another-account"));
    for url in [
        receiver.url("/hook/"),
        receiver.url("/Hook"),
        receiver.url("/hook?"),
        receiver.url("/hook#"),
        receiver.url("/%68ook"),
        receiver.url("/hook").replace("http", "HTTP"),
        receiver.url("/hook").replace("127.0.0.1", "localhost"),
        format!(" {}", receiver.url("/hook")),
        receiver.url("/of-another-account"),
        "x".into(),
        String::new(),
    ] {
        server
            .generation(
                &customer,
                "/text-generations",
                &fox_with(json!({ "callback_url": url })),
            )
            .invalid(&["callback_url"]);
    }
    assert_eq!(server.assert_settled().ended_jobs, 0);
    assert_eq!(receiver.count(), 0, "nothing is ever sent to it");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn no_webhook_registered_means_no_delivery() {
    let server = server();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    assert_eq!(server.deliveries(""), Vec::<serde_json::Value>::new());
    server.assert_settled();
}

#[test]
fn the_webhook_is_chosen_when_the_job_becomes_terminal() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.generator.hold();
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    let webhook = server.webhook(&customer, &receiver.url("/registered-meanwhile"));
    server.generator.release_all();
    server.delivery_in(&job, "delivered");
    assert_signed(&receiver.once(1)[0], &webhook.secret);
}

#[test]
fn hostile_103_a_named_webhook_that_was_deleted_meanwhile_receives_nothing() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let url = receiver.url("/gone");
    let webhook = server.webhook(&customer, &url);
    server.webhook(&customer, &receiver.url("/other"));
    server.generator.hold();
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    server.job_once(&customer, &job, "processing");
    server.remove_webhook(&webhook);
    server.generator.release_all();
    let delivery = server.delivery_in(&job, "failed");
    assert_eq!(delivery["reason"], "webhook deleted");
    assert_eq!(delivery["webhook_id"], webhook.id.as_str());
    assert_eq!(delivery["url"], url.as_str());
    assert_eq!(delivery["attempts"], json!([]));
    assert!(delivery["next_attempt_at"].is_null());
    assert_eq!(receiver.count(), 0);
    server.assert_settled();
}

/// Changes the URL of a webhook.
fn relocate(server: &Server, webhook: &Webhook, url: &str) {
    let path = format!("/webhooks/{}", webhook.id);
    let change = server.admin("PATCH", &path).json(&json!({ "url": url }));
    change.expect(200);
}

#[test]
fn hostile_103_a_named_webhook_that_was_given_another_url_meanwhile_receives_nothing() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let url = receiver.url("/old");
    let webhook = server.webhook(&customer, &url);
    server.generator.hold();
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    server.job_once(&customer, &job, "processing");
    relocate(&server, &webhook, &receiver.url("/new"));
    server.generator.release_all();
    let delivery = server.delivery_in(&job, "failed");
    assert_eq!(delivery["reason"], "webhook url changed");
    assert_eq!(delivery["url"], url.as_str());
    // A manual redelivery is refused too: it would go to a URL that the caller never named.
    let again = format!(
        "/deliveries/{}/redeliver",
        delivery["delivery_id"].as_str().unwrap()
    );
    server.admin("POST", &again).refused(409, "conflict");
    let all = format!("/webhooks/{}/redeliver", webhook.id);
    let all = server.admin("POST", &all).json(&json!({})).expect(202);
    assert_eq!(
        all.json(),
        json!({"redelivered": 0, "more": false, "next_cursor": null})
    );
    assert_eq!(receiver.count(), 0);
    relocate(&server, &webhook, &url);
    server.admin("POST", &again).expect(202);
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(1)[0].line(), "POST /old");
    server.assert_settled();
}

/// A job with a `callback_url`, whose first attempt failed and whose webhook has another URL since.
fn moved_after_an_attempt(server: &Server, receiver: &Receiver) -> (Webhook, String) {
    let customer = server.customer("1.00");
    let url = receiver.url("/old");
    let webhook = server.webhook(&customer, &url);
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    server.delivery_after(&job, 1);
    relocate(server, &webhook, &receiver.url("/new"));
    (webhook, job)
}

#[test]
fn hostile_103_a_named_webhook_that_is_given_another_url_between_attempts_receives_no_more() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let (webhook, job) = moved_after_an_attempt(&server, &receiver);
    server.pass(std::time::Duration::from_secs(61));
    let delivery = server.delivery_in(&job, "failed");
    assert_eq!(delivery["reason"], "webhook url changed");
    assert_eq!(delivery["url"], receiver.url("/old").as_str());
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
    assert!(delivery["next_attempt_at"].is_null());
    receiver.once(1);
    // With the URL restored, a manual redelivery is allowed.
    relocate(&server, &webhook, &receiver.url("/old"));
    server.redeliver(&delivery);
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(2)[1].line(), "POST /old");
    server.assert_settled();
}

#[test]
fn hostile_103_a_named_webhook_that_is_back_at_its_url_in_time_receives_the_next_attempt() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let (webhook, job) = moved_after_an_attempt(&server, &receiver);
    relocate(&server, &webhook, &receiver.url("/old"));
    server.pass(std::time::Duration::from_secs(61));
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(2)[1].line(), "POST /old");
}

#[test]
fn hostile_103_a_delivery_to_a_named_webhook_is_not_sent_again_to_its_new_url() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let url = receiver.url("/old");
    let webhook = server.webhook(&customer, &url);
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    let delivery = server.delivery_in(&job, "delivered");
    relocate(&server, &webhook, &receiver.url("/new"));
    let again = format!(
        "/deliveries/{}/redeliver",
        delivery["delivery_id"].as_str().unwrap()
    );
    server.admin("POST", &again).refused(409, "conflict");
    assert_eq!(server.delivery_in(&job, "delivered"), delivery);
    receiver.once(1);
    // A job without a `callback_url` follows its webhook, also at a manual redelivery.
    let other = server.create(&customer);
    let other = server.delivery_in(&other, "delivered");
    relocate(&server, &webhook, &receiver.url("/newer"));
    server.redeliver(&other);
    assert_eq!(receiver.once(3)[2].line(), "POST /newer");
}

#[test]
fn a_chosen_webhook_with_a_changed_url_receives_there_and_the_attempts_record_it() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let customer = server.customer("1.00");
    let (old, new) = (receiver.url("/old"), receiver.url("/new"));
    let webhook = server.webhook(&customer, &old);
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    relocate(&server, &webhook, &new);
    server.pass(std::time::Duration::from_secs(61));
    let delivery = server.delivery_in(&job, "delivered");
    assert_eq!(delivery["url"], old.as_str(), "as it was chosen");
    let called: Vec<_> = (0..2).map(|at| &delivery["attempts"][at]["url"]).collect();
    assert_eq!(called, [old.as_str(), new.as_str()]);
    let received = receiver.once(2);
    assert_eq!(
        [received[0].line(), received[1].line()],
        ["POST /old", "POST /new"]
    );
}

#[test]
fn hostile_103_a_url_registered_again_before_the_end_of_the_job_receives() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let url = receiver.url("/again");
    let first = server.webhook(&customer, &url);
    server.generator.hold();
    let job = server.create_with(&customer, json!({ "callback_url": url }));
    server.job_once(&customer, &job, "processing");
    server.remove_webhook(&first);
    let second = server.webhook(&customer, &url);
    server.generator.release_all();
    let delivery = server.delivery_in(&job, "delivered");
    assert_eq!(delivery["webhook_id"], second.id.as_str());
    assert_signed(&receiver.once(1)[0], &second.secret);
}

#[test]
fn hostile_103_a_webhook_deleted_between_attempts_receives_no_more() {
    for registered_anew in [false, true] {
        let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
        let customer = server.customer("1.00");
        let url = receiver.url("/");
        let webhook = server.webhook(&customer, &url);
        let job = server.create(&customer);
        server.delivery_after(&job, 1);
        server.remove_webhook(&webhook);
        if registered_anew {
            server.webhook(&customer, &url);
        }
        server.pass(std::time::Duration::from_secs(61));
        let delivery = server.delivery_in(&job, "failed");
        assert_eq!(delivery["reason"], "webhook deleted");
        assert_eq!(delivery["url"], url.as_str());
        assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
        assert_eq!(receiver.count(), 1);
        server.assert_settled();
    }
}
