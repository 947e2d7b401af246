//! Describes the six generation calls.

use crate::api::generation::Endpoint;
use crate::http::openapi::{DocumentBuilder, Header, Operation, bodies};
use crate::web::problem::Code;
use crate::web::submissions::cancel_after;
use serde_json::{Value, json};
use tintype_api::schema::EXAMPLE_ID as JOB;
use tintype_api::{CreatedJob, Estimate};
use tintype_storage::domain::tier::{Mode, Tier};

pub fn create(endpoint: Endpoint, builder: &mut DocumentBuilder<'_>) -> Operation {
    let (id, summary) = id_and_summary(endpoint);
    let created = json!({
        "job_id": JOB,
        "status": "queued",
        "status_url": format!("/api/v1/jobs/{JOB}"),
    });
    let accepted = builder
        .response::<CreatedJob>(
            202,
            "The job is durable, and its price is reserved.",
            created,
        )
        .header(Header::LOCATION)
        .header(Header::RETRY_AFTER)
        .header(Header::REPLAYED)
        .links(
            "job_id",
            &[
                ("show", "showJob"),
                ("follow", "followJob"),
                ("cancel", "cancelJob"),
            ],
        );
    let estimated = builder.response::<Estimate>(
        200,
        "Only with `dry_run=true`: the estimate. Nothing was created.",
        estimate(endpoint, builder),
    );
    Operation::new(id, "Images", summary)
        .text(text(endpoint, builder))
        .query(
            "dry_run",
            "`true`: run every check and fetch the input images, but create nothing. Other parameters are refused.",
            json!({"type": "boolean", "default": false}),
        )
        .header(
            cancel_after::HEADER,
            "How long the job may stay queued: a number of seconds, minutes or hours. At most `168h`. A job that has not started by then fails with `expired before it started` and is not charged.",
            json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["30s", "5m", "1h"]}),
        )
        .idempotent("An idempotency key of your choice. Repeated calls with the same key create one job.")
        .body(bodies::generation(endpoint, builder), &requests(endpoint, builder))
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

fn id_and_summary(endpoint: Endpoint) -> (&'static str, &'static str) {
    match (endpoint.tier, endpoint.mode) {
        (Tier::Pro, Mode::TextToImage) => ("createProFromText", "Generate from a prompt with pro"),
        (Tier::Pro, Mode::ImageToImage) => ("createProFromImages", "Generate from images with pro"),
        (Tier::Quality, Mode::TextToImage) => (
            "createQualityFromText",
            "Generate from a prompt with quality",
        ),
        (Tier::Quality, Mode::ImageToImage) => (
            "createQualityFromImages",
            "Generate from images with quality",
        ),
        (Tier::Fast, Mode::TextToImage) => {
            ("createFastFromText", "Generate from a prompt with fast")
        }
        (Tier::Fast, Mode::ImageToImage) => {
            ("createFastFromImages", "Generate from images with fast")
        }
    }
}

fn text(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> String {
    let offer = builder.catalog.tier(endpoint.tier);
    let currency = &builder.config.billing.currency;
    let price = |(size, price): &(_, _)| format!("{size} {price} {currency}");
    let prices: Vec<String> = offer.prices.iter().map(price).collect();
    let from = match endpoint.mode {
        Mode::TextToImage => "Creates a job that generates an image from the prompt.",
        Mode::ImageToImage => {
            "Creates a job that generates an image from the prompt and input images, which are fetched during the call."
        }
    };
    format!(
        "{from}\n\nThe model is **{}**. Price by size: {}.",
        endpoint.tier,
        prices.join(", ")
    )
}

/// 16:9 if it is offered, otherwise the first ratio.
fn ratio(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> String {
    let offer = builder.catalog.tier(endpoint.tier);
    let ratios: Vec<String> = offer
        .aspect_ratios
        .iter()
        .map(ToString::to_string)
        .collect();
    let wide = ratios.iter().find(|it| *it == "16:9");
    wide.or(ratios.first()).cloned().unwrap_or_default()
}

fn estimate(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> Value {
    let offer = builder.catalog.tier(endpoint.tier);
    let first = offer.prices.first();
    json!({
        "price": first.map(|(_, price)| price.to_string()),
        "tier": endpoint.tier.as_str(),
        "mode": endpoint.mode.as_str(),
        "aspect_ratio": ratio(endpoint, builder),
        "resolution": first.map(|(size, _)| size.as_str()),
        "available": "100.00",
    })
}

fn requests(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> Vec<(&'static str, Value)> {
    let ratio = ratio(endpoint, builder);
    let sizes: Vec<&str> = builder
        .catalog
        .tier(endpoint.tier)
        .resolution_names()
        .collect();
    let inputs = json!(["https://pictures.example/fox.png"]);
    let mut minimal = json!({"prompt": "a lighthouse in a storm at night", "aspect_ratio": ratio});
    let mut full = json!({
        "prompt": "a lighthouse in autumn, as a woodcut",
        "aspect_ratio": ratio,
        "metadata": {"order": "4711"},
    });
    // Not the largest size: a click in the reference sends the example, and the largest size costs most.
    if let (true, Some(size)) = (endpoint.tier != Tier::Fast, sizes.get(1).or(sizes.first())) {
        full["resolution"] = (*size).into();
    }
    if endpoint.mode == Mode::ImageToImage {
        minimal["prompt"] = "the same at night".into();
        minimal["input_images_urls"] = inputs.clone();
        full["prompt"] = "the same in autumn, as a woodcut".into();
        full["input_images_urls"] = inputs;
    }
    vec![("Minimal", minimal), ("Full", full)]
}
