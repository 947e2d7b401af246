//! Example responses, shared by the descriptions.

use serde_json::{Value, json};

pub use tintype_api::schema::EXAMPLE_ID as JOB;

pub const ACCOUNT: &str = "01a1f0c2-7b10-7d44-8f2e-5a1c9e7b3d01";
pub const KEY: &str = "01a1f0c2-9e41-7a02-b6c3-0d9f4e2a7c55";
pub const WEBHOOK: &str = "01a1f0c3-1a77-7e90-a4d8-6b2e8c1f9d33";
pub const PERSON: &str = "01a1f0c4-2b66-7c18-9e07-4d3a8b5c6e72";
const IMAGE: &str = "https://pictures.example/files/results/01a1fa95-2c1f-7c3a-9d5e-3f6b8a4c2d10.png?expires=1795086658&signature=5d0c1c7e5a0f4d0a9b1f6e2c8d7a3b4c5d0c1c7e5a0f4d0a9b1f6e2c8d7a3b4c";

pub fn done_job() -> Value {
    json!({
        "job_id": JOB,
        "status": "done",
        "created_at": "2026-11-20T20:10:58.145Z",
        "started_at": "2026-11-20T20:10:58.147Z",
        "finished_at": "2026-11-20T20:10:58.531Z",
        "result": {"image_url": IMAGE},
        "error": null,
        "queue_position": null,
        "estimated_start_at": null,
    })
}

pub fn queued_job() -> Value {
    json!({
        "job_id": JOB,
        "status": "queued",
        "created_at": "2026-11-20T20:10:58.145Z",
        "started_at": null,
        "finished_at": null,
        "result": null,
        "error": null,
        "queue_position": 3,
        "estimated_start_at": "2026-11-20T20:12:40.000Z",
    })
}

pub fn canceled_job() -> Value {
    with(
        queued_job(),
        json!({
            "status": "failed",
            "finished_at": "2026-11-20T20:11:02.310Z",
            "error": "canceled",
            "queue_position": null,
            "estimated_start_at": null,
        }),
    )
}

pub fn failed_job() -> Value {
    with(
        done_job(),
        json!({
            "status": "failed",
            "result": null,
            "error": "blocked for safety: the model refused the prompt",
        }),
    )
}

/// The operator's record of a job.
pub fn record(job: Value) -> Value {
    with(
        job,
        json!({
            "account_id": ACCOUNT,
            "key_id": KEY,
            "tier": "pro",
            "mode": "text-to-image",
            "aspect_ratio": "16:9",
            "ratio": "16:9",
            "resolution": "2K",
            "price": "0.134",
            "prompt": "a lighthouse in a storm at night",
            "metadata": {"order": "4711"},
            "callback_url": null,
            "origin": "native",
            "batch_id": null,
            "custom_id": null,
            "inputs": [],
            "picture": {"bytes": 3_214_870, "width": 2_752, "height": 1_536},
        }),
    )
}

pub fn record_without_image(job: Value) -> Value {
    with(record(job), json!({"picture": null}))
}

pub fn charge() -> Value {
    json!({
        "transaction_id": "01a1fa95-2dc3-7b61-8c0a-9f1e2d3c4b5a",
        "kind": "charge",
        "amount": "-0.134",
        "balance_after": "99.866",
        "job_id": JOB,
        "reference": null,
        "created_at": "2026-11-20T20:10:58.531Z",
    })
}

pub fn page(entry: Value) -> Value {
    json!({"data": [entry], "next_cursor": "01a1fa952c1f7c3a9d5e3f6b8a4c2d10"})
}

pub fn last_page(entry: Value) -> Value {
    json!({"data": [entry], "next_cursor": null})
}

/// Replaces or adds members.
pub fn with(mut onto: Value, extra: Value) -> Value {
    if let (Value::Object(onto), Value::Object(extra)) = (&mut onto, extra) {
        onto.extend(extra);
    }
    onto
}
