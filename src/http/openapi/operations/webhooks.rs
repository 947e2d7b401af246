//! Describes the operator's calls on webhooks.

use super::deliveries::pending;
use super::examples::{ACCOUNT, WEBHOOK, last_page, with};
use crate::http::openapi::{DocumentBuilder, Operation, ResponseDoc};
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{Body as _, Delivery, Redelivery, RedeliveryRange, Webhook, WebhookFields};

fn example() -> Value {
    json!({
        "webhook_id": WEBHOOK,
        "account_id": ACCOUNT,
        "url": "https://shop.example/hooks/tintype",
        "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
        "encoding": "ascii",
        "active": true,
        "created_at": "2026-11-18T11:06:40.001Z",
    })
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listWebhooks", "Webhooks", "List an account's webhooks")
        .window()
        .response(builder.page::<Webhook>("A page of webhooks.", last_page(example())))
}

pub fn register(builder: &mut DocumentBuilder<'_>) -> Operation {
    let example_body = json!({"url": "https://shop.example/hooks/tintype"});
    Operation::new("registerWebhook", "Webhooks", "Register a webhook")
        .body(
            WebhookFields::schema(&["url"]),
            &[("A webhook", example_body)],
        )
        .response(
            builder
                .response::<Webhook>(201, "The webhook with its secret.", example())
                .links(
                    "webhook_id",
                    &[
                        ("show", "showWebhook"),
                        ("change", "changeWebhook"),
                        ("remove", "removeWebhook"),
                    ],
                ),
        )
        .refuses([Code::Conflict])
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("showWebhook", "Webhooks", "Get a webhook")
        .response(builder.response::<Webhook>(200, "The webhook with its secret.", example()))
}

pub fn change(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("changeWebhook", "Webhooks", "Change a webhook")
        .body(
            WebhookFields::schema(&[]),
            &[
                ("For JavaScript", json!({"encoding": "utf8"})),
                ("Reactivate", json!({"active": true})),
            ],
        )
        .response(builder.response::<Webhook>(200, "The changed webhook.", example()))
        .refuses([Code::Conflict])
}

pub fn remove(_: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("removeWebhook", "Webhooks", "Delete a webhook")
        .text("Its pending deliveries end as `failed` with the reason `webhook deleted`.")
        .response(ResponseDoc::new(204, "The webhook is deleted."))
}

pub fn test(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("testWebhook", "Webhooks", "Send a test delivery")
        .text("Reports a job that never existed, with `metadata` `{\"test\": true}`. One per minute and webhook. Returns 409 while the webhook is inactive.")
        .response(test_delivery(builder, pending()))
        .refuses([Code::Conflict, Code::RateLimited])
}

pub fn test_operator(builder: &mut DocumentBuilder<'_>) -> Operation {
    let none = "00000000-0000-0000-0000-000000000000";
    let example = with(
        pending(),
        json!({
            "account_id": none,
            "kind": "operator",
            "job_id": null,
            "webhook_id": none,
            "url": "https://ops.example/hooks/tintype",
        }),
    );
    Operation::new("testOperatorWebhook", "Webhooks", "Send a test event to the operator's webhook")
        .text("Sends an event of type `test` to `[operator] webhook_url`. One per minute. Returns 409 if the configuration has no URL.")
        .response(test_delivery(builder, example))
        .refuses([Code::Conflict, Code::RateLimited])
}

fn test_delivery(builder: &mut DocumentBuilder<'_>, example: Value) -> ResponseDoc {
    builder
        .response::<Delivery>(202, "The delivery, pending.", example)
        .links("delivery_id", &[("show", "showDelivery")])
}

pub fn rotate(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("rotateSecret", "Webhooks", "Rotate a webhook secret")
        .text("`X-Signature` uses the new secret at once; `webhook-signature` contains signatures with both for 24 hours.")
        .response(builder.response::<Webhook>(200, "The webhook with its new secret.", example()))
}

pub fn redeliver(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new(
        "redeliverFailed",
        "Webhooks",
        "Redeliver all failed deliveries",
    )
    .text("Redelivers failed deliveries of this webhook created in a time range, newest first. One call scans 10,000 deliveries of the account over all webhooks; while `more` is true, call again with `cursor`.")
    .optional_body(
        RedeliveryRange::schema(&[]),
        &[(
            "One morning",
            json!({"from": "2026-11-20T08:00:00Z", "to": "2026-11-20T12:00:00Z"}),
        )],
    )
    .response(builder.response::<Redelivery>(202, "How many are pending again.",
        json!({"redelivered": 12, "more": false, "next_cursor": null}),
    ))
}
