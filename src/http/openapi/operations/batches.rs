//! Describes the calls on batches.

use super::examples::{JOB, KEY, done_job, page, with};
use crate::api::generation::Endpoint;
use crate::http::openapi::{
    DocumentBuilder, Header, Operation, ResponseDoc, bodies, named_examples,
};
use crate::web::problem::Code;
use crate::web::submissions::batch_call::MAX_BODY_BYTES;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use tintype_api::schema::{or_null, with_description, words};
use tintype_api::{Batch, BatchEstimate, BatchResult};
use tintype_storage::domain::tier::{Mode, Tier};

const BATCH: &str = "01a1fa95-2b0e-7f10-8a3c-4d5e6f708192";

/// A batch of two jobs, one of them done.
fn example() -> Value {
    json!({
        "batch_id": BATCH,
        "status": "in_progress",
        "created_at": "2026-11-20T20:10:58.140Z",
        "ended_at": null,
        "counts": {"total": 2, "queued": 1, "processing": 0, "done": 1, "failed": 0},
        "price": "0.173",
        "charged": "0.039",
        "metadata": {"catalogue": "autumn"},
        "results_url": format!("/api/v1/batches/{BATCH}/results"),
    })
}

pub fn create(builder: &mut DocumentBuilder<'_>) -> Operation {
    let new = with(
        example(),
        json!({
            "counts": {"total": 2, "queued": 2, "processing": 0, "done": 0, "failed": 0},
            "charged": "0.00",
        }),
    );
    let accepted = builder
        .response::<Batch>(
            202,
            "The batch and its jobs are durable, and the sum of their prices is reserved.",
            new,
        )
        .header(Header::BATCH_LOCATION)
        .header(Header::RETRY_AFTER)
        .header(Header::REPLAYED)
        .links(
            "batch_id",
            &[
                ("show", "showBatch"),
                ("results", "streamBatchResults"),
                ("cancel", "cancelBatch"),
            ],
        );
    let estimated = builder.response::<BatchEstimate>(
        200,
        "Only with `dry_run=true`: the price of the batch. Nothing was created.",
        json!({"price": "0.173", "requests": 2, "available": "100.00"}),
    );
    let request = request(builder);
    let lines = "{\"custom_id\":\"fox\",\"model\":\"fast\",\"prompt\":\"a red fox in the snow\",\"aspect_ratio\":\"1:1\"}\n{\"model\":\"pro\",\"prompt\":\"an owl at night\",\"aspect_ratio\":\"1:1\"}\n";
    let factor = builder.config.batches.price_factor;
    let price = if factor == Decimal::ONE {
        "An image costs as much as a single one.".to_owned()
    } else {
        format!("An image costs {factor} times as much as a single one, rounded up to 6 decimals.")
    };
    Operation::new("createBatch", "Batches", "Submit a batch")
        .text(format!(
            "Accepts 1 to {} requests as jobs, whole or not at all: every fault is reported with its path, such as `requests[17].prompt`, and the sum of the prices is reserved in the same step. \
             The body may have {MAX_BODY_BYTES} bytes: one JSON object, or, as `application/x-ndjson`, one request per line. {price}\n\n\
             A request with `input_images_urls` is image-to-image. Its images are fetched when the job starts; if that fails, the job fails and is not charged. \
             The jobs run after the account's single jobs and send no webhooks: when the last job has ended, one delivery reports the batch.",
            builder.config.batches.max_requests,
        ))
        .query(
            "dry_run",
            "`true`: run every check, but fetch no input images and create nothing. Other parameters are refused.",
            json!({"type": "boolean", "default": false}),
        )
        .idempotent("An idempotency key of your choice. Repeated calls with the same key create one batch.")
        .body(body(builder, request.clone()), &[("Two requests", two())])
        .also_as("application/x-ndjson", json!({
            "schema": {"type": "string", "contentMediaType": "application/x-ndjson", "contentSchema": request},
            "examples": named_examples(&[("Two requests", lines.into())]),
        }))
        .response(accepted)
        .response(estimated)
        .refuses([
            Code::InsufficientBalance,
            Code::KeyLimitReached,
            Code::AccountLimitReached,
            Code::ModelNotAllowed,
            Code::StorageUnavailable,
            Code::Paused,
        ])
}

fn two() -> Value {
    json!({
        "requests": [
            {"custom_id": "fox", "model": "fast", "prompt": "a red fox in the snow", "aspect_ratio": "1:1"},
            {"model": "pro", "prompt": "an owl at night", "aspect_ratio": "1:1"},
        ],
        "metadata": {"catalogue": "autumn"},
    })
}

fn body(builder: &DocumentBuilder<'_>, request: Value) -> Value {
    let endpoint = Endpoint {
        tier: Tier::Pro,
        mode: Mode::TextToImage,
    };
    let single = bodies::generation(endpoint, builder);
    let own = |name: &str| single["properties"][name].clone();
    tintype_api::schema::object(
        vec![
            (
                "requests",
                json!({
                    "type": "array",
                    "minItems": 1,
                    "maxItems": builder.config.batches.max_requests,
                    "description": "The requests, one job each.",
                    "items": request,
                }),
            ),
            ("metadata", own("metadata")),
            (
                "callback_url",
                with(
                    own("callback_url"),
                    json!({"description": "The webhook that receives the event of the batch: the exact URL of a registered webhook. Default: the oldest one."}),
                ),
            ),
        ],
        &["requests"],
    )
}

/// One request. Its valid fields depend on the model and on whether it has input images, as in the generation calls.
fn request(builder: &DocumentBuilder<'_>) -> Value {
    let of = |tier, mode| {
        let mut schema = bodies::generation(Endpoint { tier, mode }, builder);
        let mut fields = schema["properties"].take();
        if let Some(fields) = fields.as_object_mut() {
            fields.remove("callback_url");
            fields.insert(
                "custom_id".into(),
                or_null(json!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 64,
                    "description": "Your name for the request, unique in the batch. Default: its position as text, from `0`.",
                })),
            );
            fields.insert(
                "model".into(),
                with_description(words([tier.as_str()]), "The model."),
            );
        }
        schema["properties"] = fields;
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, "model".into());
        }
        if let Some(order) = schema["x-order"].as_array_mut() {
            order.retain(|name| name != "callback_url");
            order.splice(0..0, ["custom_id".into(), "model".into()]);
        }
        schema
    };
    let calls = Tier::ALL
        .iter()
        .flat_map(|tier| Mode::ALL.iter().map(move |mode| (*tier, *mode)));
    json!({"anyOf": calls.map(|(tier, mode)| of(tier, mode)).collect::<Vec<_>>()})
}

pub fn list(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listBatches", "Batches", "List batches")
        .text("Newest first.")
        .window()
        .response(builder.page::<Batch>("A page of batches.", page(example())))
}

pub fn show(builder: &mut DocumentBuilder<'_>) -> Operation {
    let shown = builder
        .response::<Batch>(200, "The batch.", example())
        .header(Header::PREFERENCE_APPLIED);
    Operation::new("showBatch", "Batches", "Get a batch")
        .text("Responds at once. With `wait` or `Prefer: wait=N` it responds when the batch has ended, or after that many seconds at the latest.")
        .long_poll("Seconds to wait for the end of the batch.")
        .response(shown)
        .refuses([Code::ValidationFailed])
}

pub fn results(builder: &mut DocumentBuilder<'_>) -> Operation {
    let line = json!({
        "custom_id": "fox",
        "job_id": JOB,
        "status": "done",
        "result": done_job()["result"],
        "error": null,
    });
    let waiting = json!({
        "custom_id": "1",
        "job_id": KEY,
        "status": "queued",
        "result": null,
        "error": null,
    });
    let schema = json!({
        "type": "string",
        "contentMediaType": "application/x-ndjson",
        "contentSchema": builder.schema::<BatchResult<'static>>(),
    });
    let lines = format!("{line}\n{waiting}\n");
    let stream = ResponseDoc::new(200, "The results, streamed.").content(
        "application/x-ndjson",
        json!({"schema": schema, "example": lines}),
    );
    Operation::new("streamBatchResults", "Batches", "Stream the results of a batch")
        .text("One line per request, in their order, at any time: `status` shows which ones have ended. Each response has fresh image URLs. If the connection breaks before the last line, repeat the call.")
        .response(stream)
}

pub fn cancel(builder: &mut DocumentBuilder<'_>) -> Operation {
    let canceled = with(
        example(),
        json!({
            "status": "ended",
            "ended_at": "2026-11-20T20:11:02.310Z",
            "counts": {"total": 2, "queued": 0, "processing": 0, "done": 1, "failed": 1},
        }),
    );
    let response = builder.response::<Batch>(
        200,
        "The batch: `canceling` while some of its jobs run, then `ended`.",
        canceled,
    );
    Operation::new("cancelBatch", "Batches", "Cancel a batch")
        .text("Its queued jobs fail with the error `canceled`, and their prices are released. Started jobs continue. `409` if all jobs have ended.")
        .response(response)
        .refuses([Code::Conflict])
}

pub fn of_account(builder: &mut DocumentBuilder<'_>) -> Operation {
    Operation::new("listBatches", "Jobs", "List an account's batches")
        .text("Newest first.")
        .window()
        .response(builder.page::<Batch>("A page of batches.", page(example())))
}
