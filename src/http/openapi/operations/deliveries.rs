//! Describes the operator's calls on deliveries.

use super::examples::{ACCOUNT, WEBHOOK, page, with};
use crate::http::openapi::{DocumentBuilder, Operation, uuid};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::Delivery;
use tintype_api::schema::{EXAMPLE_ID as JOB, words};
use tintype_storage::domain::delivery::DeliveryStatus;

fn example() -> Value {
    json!({
        "delivery_id": JOB,
        "account_id": ACCOUNT,
        "kind": "event",
        "job_id": JOB,
        "batch_id": null,
        "webhook_id": WEBHOOK,
        "url": "https://shop.example/hooks/tintype",
        "status": "delivered",
        "reason": null,
        "attempts": [
            {"at": "2026-11-20T20:10:58.540Z", "url": "https://shop.example/hooks/tintype", "status_code": 503, "error": null, "duration_ms": 41, "response_body": "busy"},
            {"at": "2026-11-20T20:11:58.590Z", "url": "https://shop.example/hooks/tintype", "status_code": 200, "error": null, "duration_ms": 38, "response_body": "ok"},
        ],
        "next_attempt_at": null,
        "created_at": "2026-11-20T20:10:58.531Z",
    })
}

/// A delivery without attempts.
pub fn pending() -> Value {
    with(
        example(),
        json!({
            "status": "pending",
            "attempts": [],
            "next_attempt_at": "2026-11-20T20:10:58.531Z",
        }),
    )
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listDeliveries", "Deliveries", "List deliveries")
        .text("Newest first. A page scans a bounded number of deliveries, and contains at most 1,000 attempts: it may end early and still have a `next_cursor`.")
        .window()
        .query("account_id", "Only to this account's webhooks.", uuid())
        .query("job_id", "Only the delivery about this job or, for a job of a batch, about its batch. The id of a batch selects the delivery of the batch.", uuid())
        .query("webhook_id", "Only to this webhook.", uuid())
        .query("status", "Only deliveries with this status.", words(DeliveryStatus::names()))
        .response(builder.page::<Delivery>("A page of deliveries.", page(example())))
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showDelivery", "Deliveries", "Get a delivery")
        .response(builder.response::<Delivery>(200, "The delivery with its attempts.", example()))
}

pub fn redeliver(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("redeliver", "Deliveries", "Send a delivery again")
        .text("Makes the delivery pending again, with a new schedule of attempts. `409` if its webhook was deleted or now has another URL, or if it has 200 attempts.")
        .response(builder.response::<Delivery>(202, "The delivery, pending.", pending()))
        .refuses([Code::Conflict])
}
