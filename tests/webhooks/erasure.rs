//! The operator erases a job whose delivery is pending: the delivery goes on, without the erased texts.

use crate::helpers::server;
use crate::receiver::{Receiver, Reply};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_egress::testing::server::text;
use tintype_storage::engine::Wait as _;

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
