//! Audit log entries for webhooks and deliveries.

use crate::helpers::server;
use crate::receiver::Receiver;
use crate::support::Server;
use serde_json::{Value, json};

/// The entries of one kind, oldest first.
fn lines(server: &Server, kind: &str) -> Vec<Value> {
    let path = format!("/audit?action={kind}&limit=100");
    let list = server.admin("GET", &path).expect(200);
    assert!(!list.text().contains("whsec_"), "{}", list.text());
    let mut lines = list.json()["data"].as_array().unwrap().clone();
    lines.reverse();
    lines
}

#[test]
fn a_webhook_is_audited_from_creation_to_deletion_and_never_with_its_secret() {
    let (server, receiver) = (server(), Receiver::statuses(&[200]));
    let customer = server.customer("1.00");
    let url = receiver.url("/");
    let webhook = server.webhook(&customer, &url);
    let path = format!("/webhooks/{}", webhook.id);
    let change = json!({"encoding": "utf8"});
    server.admin("PATCH", &path).json(&change).expect(200);
    server.admin("PATCH", &path).json(&change).expect(200);
    server
        .admin("POST", &format!("{path}/rotate-secret"))
        .expect(200);
    // Ids that two nodes create in the same millisecond sort in any order.
    server.clock.advance(std::time::Duration::from_secs(1));
    let test = server
        .admin("POST", &format!("{path}/test"))
        .expect(202)
        .json();
    server.clock.advance(std::time::Duration::from_secs(1));
    server.admin("DELETE", &path).expect(204);
    let lines = lines(&server, "webhook");
    let told: Vec<_> = lines
        .iter()
        .map(|it| {
            (
                it["action"].as_str().unwrap(),
                &it["before"]["encoding"],
                &it["after"]["encoding"],
            )
        })
        .collect();
    let (none, ascii, utf8) = (&Value::Null, &"ascii".into(), &"utf8".into());
    let expected = [
        ("webhook.create", none, ascii),
        ("webhook.change", ascii, utf8),
        ("webhook.rotate_secret", utf8, utf8),
        ("webhook.test", none, none),
        ("webhook.delete", utf8, none),
    ];
    assert_eq!(told, expected);
    for line in &lines {
        assert_eq!(line["subject_id"], webhook.id.as_str());
        assert_eq!(line["account_id"], customer.account.as_str());
    }
    assert_eq!(lines[2]["before"]["earlier_secrets_until"], json!([]));
    let until = lines[2]["after"]["earlier_secrets_until"].as_array();
    assert_eq!(until.unwrap().len(), 1);
    assert_eq!(lines[3]["after"]["job_id"], test["job_id"]);
    assert_eq!(lines[0]["after"]["url"], url);
}

#[test]
fn a_redelivery_is_audited_with_the_earlier_state_of_the_delivery() {
    let (server, receiver) = (server(), Receiver::statuses(&[200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let delivery = server.delivery_in(&job, "delivered");
    server.redeliver(&delivery);
    let told = lines(&server, "delivery");
    assert_eq!(told.len(), 1);
    let line = &told[0];
    assert_eq!(line["subject_id"], delivery["delivery_id"]);
    assert_eq!(line["account_id"], customer.account.as_str());
    assert_eq!(
        (&line["before"]["status"], &line["after"]["status"]),
        (&"delivered".into(), &"pending".into())
    );
    assert_eq!(line["before"]["job_id"], job.as_str());
    server.delivery_in(&job, "delivered");
    // A refused redelivery leaves no entry.
    server.remove_webhook(&webhook);
    let path = format!(
        "/deliveries/{}/redeliver",
        delivery["delivery_id"].as_str().unwrap()
    );
    server.admin("POST", &path).refused(409, "conflict");
    assert_eq!(lines(&server, "delivery").len(), 1);
}
