//! The operator's calls on registered webhooks.

use super::accounts;
use super::deliveries::pending;
use super::examples::{ACCOUNT, WEBHOOK, last_page, with};
use crate::http::openapi::{Answer, Operation, Sketch};
use crate::web::paging::Listing;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::{Body as _, Delivery, Redelivery, RedeliveryRange, Webhook, WebhookFields};

const ID: &str = "The webhook's id.";

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

/// `GET /accounts/{account_id}/webhooks`
pub fn list(sketch: &mut Sketch<'_>) -> Operation {
    let schema = sketch.schema::<Listing<Webhook>>();
    Operation::new("listWebhooks", "Webhooks", "List an account's webhooks")
        .path_id("account_id", accounts::ID)
        .window()
        .answer(Answer::json(
            200,
            "A page of webhooks.",
            schema,
            last_page(example()),
        ))
        .refuses([Code::NotFound])
}

/// `POST /accounts/{account_id}/webhooks`
pub fn register(sketch: &mut Sketch<'_>) -> Operation {
    let example_body = json!({"url": "https://shop.example/hooks/tintype"});
    Operation::new("registerWebhook", "Webhooks", "Register a webhook")
        .path_id("account_id", accounts::ID)
        .body(
            WebhookFields::schema(&["url"]),
            &[("A webhook", example_body)],
        )
        .answer(
            Answer::json(
                201,
                "The webhook with its secret.",
                sketch.schema::<Webhook>(),
                example(),
            )
            .link(
                "show",
                "showWebhook",
                "webhook_id",
                "$response.body#/webhook_id",
            )
            .link(
                "change",
                "changeWebhook",
                "webhook_id",
                "$response.body#/webhook_id",
            )
            .link(
                "remove",
                "removeWebhook",
                "webhook_id",
                "$response.body#/webhook_id",
            ),
        )
        .refuses([Code::NotFound, Code::Conflict])
}

/// `GET /webhooks/{webhook_id}`
pub fn show(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("showWebhook", "Webhooks", "Get a webhook")
        .path_id("webhook_id", ID)
        .answer(Answer::json(
            200,
            "The webhook with its secret.",
            sketch.schema::<Webhook>(),
            example(),
        ))
        .refuses([Code::NotFound])
}

/// `PATCH /webhooks/{webhook_id}`
pub fn change(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("changeWebhook", "Webhooks", "Change a webhook")
        .path_id("webhook_id", ID)
        .body(
            WebhookFields::schema(&[]),
            &[
                ("For JavaScript", json!({"encoding": "utf8"})),
                ("Activate again", json!({"active": true})),
            ],
        )
        .answer(Answer::json(
            200,
            "The webhook as it is now.",
            sketch.schema::<Webhook>(),
            example(),
        ))
        .refuses([Code::NotFound, Code::Conflict])
}

/// `DELETE /webhooks/{webhook_id}`
pub fn remove(_: &mut Sketch<'_>) -> Operation {
    Operation::new("removeWebhook", "Webhooks", "Delete a webhook")
        .text(
            "Deliveries to it that are pending end as `failed`, with the reason `webhook deleted`.",
        )
        .path_id("webhook_id", ID)
        .answer(Answer::new(204, "The webhook is gone."))
        .refuses([Code::NotFound])
}

/// `POST /webhooks/{webhook_id}/test`
pub fn test(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("testWebhook", "Webhooks", "Send a test delivery")
        .text("About a job that never was, with `metadata` `{\"test\": true}`. One a minute for each webhook. Answered 409 while the webhook is inactive.")
        .path_id("webhook_id", ID)
        .answer(
            Answer::json(
                202,
                "The delivery, pending.",
                sketch.schema::<Delivery>(),
                pending(),
            )
            .link(
                "show",
                "showDelivery",
                "delivery_id",
                "$response.body#/delivery_id",
            ),
        )
        .refuses([Code::NotFound, Code::Conflict, Code::RateLimited])
}

/// `POST /operator-webhook/test`
pub fn test_operator(sketch: &mut Sketch<'_>) -> Operation {
    let none = "00000000-0000-0000-0000-000000000000";
    Operation::new("testOperatorWebhook", "Webhooks", "Send a test event to the operator's webhook")
        .text("To `[operator] webhook_url` of the configuration, with the type `test`. One a minute. Answered 409 where the configuration names no URL.")
        .answer(
            Answer::json(
                202,
                "The delivery, pending.",
                sketch.schema::<Delivery>(),
                with(
                    pending(),
                    json!({
                        "account_id": none,
                        "kind": "operator",
                        "job_id": null,
                        "webhook_id": none,
                        "url": "https://ops.example/hooks/tintype",
                    }),
                ),
            )
            .link(
                "show",
                "showDelivery",
                "delivery_id",
                "$response.body#/delivery_id",
            ),
        )
        .refuses([Code::Conflict, Code::RateLimited])
}

/// `POST /webhooks/{webhook_id}/rotate-secret`
pub fn rotate(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new("rotateSecret", "Webhooks", "Rotate a webhook secret")
        .text("`X-Signature` is signed with the new secret at once; `webhook-signature` lists both for 24 hours.")
        .path_id("webhook_id", ID)
        .answer(Answer::json(200, "The webhook with its new secret.", sketch.schema::<Webhook>(), example()))
        .refuses([Code::NotFound])
}

/// `POST /webhooks/{webhook_id}/redeliver`
pub fn redeliver(sketch: &mut Sketch<'_>) -> Operation {
    Operation::new(
        "redeliverFailed",
        "Webhooks",
        "Send all failed deliveries again",
    )
    .text("Those of this webhook that were created in a range of time, newest first. One call looks at 10,000 deliveries of the account, whichever webhook they are for; while `more` is true, another with `cursor` goes on from there.")
    .path_id("webhook_id", ID)
    .body(
        RedeliveryRange::schema(&[]),
        &[(
            "Of one morning",
            json!({"from": "2026-11-20T08:00:00Z", "to": "2026-11-20T12:00:00Z"}),
        )],
    )
    .answer(Answer::json(
        202,
        "How many are pending again.",
        sketch.schema::<Redelivery>(),
        json!({"redelivered": 12, "more": false, "next_cursor": null}),
    ))
    .refuses([Code::NotFound])
}
