//! Describes the events that registered webhooks receive.

use super::examples::done_job;
use crate::http::openapi::{DocumentBuilder, span};
use serde_json::{Map, Value, json};
use tintype_api::BatchCounts;
use tintype_api::schema::{EXAMPLE_ID as JOB, with_description, words};

pub fn events_to_webhooks(builder: &mut DocumentBuilder<'_>) -> Value {
    // In seconds.
    let delays = &builder.config.webhooks.retry_delays_seconds;
    let schedule = match delays.len() {
        0 => "it is not retried".to_owned(),
        again => format!(
            "everything else is retried, {} attempts in total over about {}",
            again + 1,
            span(delays.iter().sum())
        ),
    };
    let delivery = format!(
        "Any `2xx` ends the delivery; {schedule}. A delivery may arrive twice: deduplicate by its id. The signature covers the exact bytes of the body. `X-Signature` is `sha256=` and the hex HMAC-SHA256 of `X-Timestamp`, a dot and the body, \
            with the webhook's secret; refuse a delivery whose timestamp is more than 300 seconds off. The headers of Standard Webhooks are also sent, with the same secret."
    );
    let event = |name: &str, group: &str, summary: &str, text: &str, body: Value| {
        json!({"post": {
            "operationId": name,
            "tags": [group],
            "summary": summary,
            "description": format!("{text} {delivery}"),
            "parameters": headers(),
            "requestBody": {"required": true, "content": {"application/json": body}},
            "responses": {"2XX": {"description": "The delivery has arrived."}},
            "security": [],
        }})
    };
    json!({
        "jobEnded": event(
            "jobEnded",
            "Jobs",
            "A job has ended",
            "Sent to a registered webhook when a job is `done` or `failed`, except for the jobs of a batch.",
            json!({"schema": payload(), "examples": examples()}),
        ),
        "batchEnded": event(
            "batchEnded",
            "Batches",
            "A batch has ended",
            "Sent to a registered webhook when the last job of a batch is `done` or `failed`.",
            json!({"schema": batch_payload(builder.schema::<BatchCounts>()), "example": batch_example()}),
        ),
    })
}

fn batch_payload(counts: Value) -> Value {
    json!({
        "type": "object",
        "properties": {
            "batch_id": {"type": "string", "format": "uuid", "description": "The batch."},
            "status": with_description(words(["ended"]), "Always `ended`."),
            "counts": with_description(counts, "The number of jobs per state."),
            "metadata": {"type": ["object", "null"], "description": "The batch's metadata, without keys that begin with `_`.", "additionalProperties": true},
        },
        "required": ["batch_id", "status", "counts", "metadata"],
        "additionalProperties": false,
    })
}

fn batch_example() -> Value {
    json!({
        "batch_id": JOB,
        "status": "ended",
        "counts": {"total": 1000, "queued": 0, "processing": 0, "done": 998, "failed": 2},
        "metadata": {"catalogue": "autumn"},
    })
}

fn headers() -> Value {
    let header = |(name, text, example): (&str, &str, &str)| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": text,
            "schema": {"type": "string"},
            "example": example,
        })
    };
    [
        (
            "X-Signature",
            "The signature with the newest secret.",
            "sha256=6f1d2b7c0a5e4f3c8d9b1a7e6c5d4f3b2a190817263544f5e6d7c8b9a0f1e2d3",
        ),
        (
            "X-Timestamp",
            "When the attempt was sent, in seconds since 1970.",
            "1795000258",
        ),
        (
            "webhook-id",
            "The delivery's id, the same over its attempts.",
            JOB,
        ),
        ("webhook-timestamp", "As `X-Timestamp`.", "1795000258"),
        (
            "webhook-signature",
            "Signatures of Standard Webhooks, one for each valid secret.",
            "v1,bW9zdCBvZiB0aGlzIGlzIGFuIGV4YW1wbGUgb25seQo=",
        ),
    ]
    .into_iter()
    .map(header)
    .collect()
}

fn payload() -> Value {
    json!({
        "type": "object",
        "properties": {
            "job_id": {"type": "string", "format": "uuid", "description": "The job."},
            "status": with_description(words(["done", "failed"]), "The job's final state."),
            "result": {
                "type": ["object", "null"],
                "description": "Only for a done job.",
                "properties": {"image_url": {"type": "string", "format": "uri", "description": "The download URL of the image; fresh with each attempt."}},
                "required": ["image_url"],
            },
            "error": {"type": ["string", "null"], "description": "Only for a failed job: the reason."},
            "metadata": {"type": ["object", "null"], "description": "The request's metadata, without keys that begin with `_`.", "additionalProperties": true},
        },
        "required": ["job_id", "status", "result", "error", "metadata"],
        "additionalProperties": false,
    })
}

fn examples() -> Map<String, Value> {
    let example = |status: &str, result: Value, error: Value| {
        json!({"summary": status, "value": {
            "job_id": JOB,
            "status": status,
            "result": result,
            "error": error,
            "metadata": {"order": "4711"},
        }})
    };
    let failed = "the backend did not respond in time";
    Map::from_iter([
        (
            "done".to_owned(),
            example("done", done_job()["result"].clone(), Value::Null),
        ),
        (
            "failed".to_owned(),
            example("failed", Value::Null, failed.into()),
        ),
    ])
}
