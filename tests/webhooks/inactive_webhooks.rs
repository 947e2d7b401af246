//! Inactive webhooks: they receive nothing, and their pending deliveries are not lost.

use crate::helpers::{Webhook, server};
use crate::receiver::Receiver;
use crate::support::Server;
use serde_json::json;
use std::time::Duration;

fn activate(server: &Server, webhook: &Webhook, active: bool) {
    let path = format!("/webhooks/{}", webhook.id);
    let change = server
        .admin("PATCH", &path)
        .json(&json!({ "active": active }));
    assert_eq!(change.expect(200).json()["active"], active);
}

#[test]
fn an_inactive_webhook_receives_nothing_until_activation_and_redelivery() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let oldest = server.webhook(&customer, &receiver.url("/oldest"));
    server.webhook(&customer, &receiver.url("/newer"));
    activate(&server, &oldest, false);
    let job = server.create(&customer);
    let failed = server.delivery_in(&job, "failed");
    assert_eq!(failed["reason"], "webhook inactive");
    assert_eq!(
        failed["webhook_id"],
        oldest.id.as_str(),
        "no other one gets it"
    );
    assert_eq!(failed["attempts"], json!([]));
    let again = format!(
        "/deliveries/{}/redeliver",
        failed["delivery_id"].as_str().unwrap()
    );
    let test = format!("/webhooks/{}/test", oldest.id);
    for path in [again.as_str(), test.as_str()] {
        let refused = server.admin("POST", path).json(&json!({})).expect(409);
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains("inactive; activate it first"), "{detail}");
    }
    assert_eq!(receiver.count(), 0);
    activate(&server, &oldest, true);
    let range = format!("/webhooks/{}/redeliver", oldest.id);
    let sent = server.admin("POST", &range).json(&json!({})).expect(202);
    assert_eq!(sent.json()["redelivered"], 1);
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(1)[0].line(), "POST /oldest");
    server.assert_settled();
}

#[test]
fn a_webhook_that_is_deactivated_between_attempts_gets_no_further_one() {
    let (server, receiver) = (server(), Receiver::statuses(&[500]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/a"));
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    activate(&server, &webhook, false);
    server.pass(Duration::from_secs(61));
    let failed = server.delivery_in(&job, "failed");
    assert_eq!(failed["reason"], "webhook inactive");
    assert_eq!(receiver.count(), 1);
}
