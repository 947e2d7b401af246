//! The six calls that make pictures.

use crate::api::generation::Endpoint;
use crate::http::openapi::{Answer, Header, Operation, Sketch, bodies};
use crate::web::cancel_after;
use crate::web::problem::Code;
use serde_json::{Value, json};
use tintype_api::schema::EXAMPLE_ID as JOB;
use tintype_api::{CreatedJob, Estimate};
use tintype_storage::domain::tier::{Mode, Tier};

/// One of them.
pub fn create(endpoint: Endpoint, sketch: &mut Sketch<'_>) -> Operation {
    let (id, summary) = named(endpoint);
    let created = json!({
        "job_id": JOB,
        "status": "queued",
        "status_url": format!("/api/v1/jobs/{JOB}"),
    });
    let accepted = Answer::json(
        202,
        "The job is on the disk, and its price is held.",
        sketch.schema::<CreatedJob>(),
        created,
    )
    .header(Header::LOCATION)
    .header(Header::RETRY_AFTER)
    .not_stored()
    .header(Header::REPLAYED)
    .link("show", "showJob", "job_id", "$response.body#/job_id")
    .link("follow", "followJob", "job_id", "$response.body#/job_id")
    .link("cancel", "cancelJob", "job_id", "$response.body#/job_id");
    let estimated = Answer::json(
        200,
        "Only with `dry_run=true`: what the job would be. Nothing was kept.",
        sketch.schema::<Estimate>(),
        estimate(endpoint, sketch),
    )
    .not_stored();
    Operation::new(id, "Pictures", summary)
        .text(text(endpoint, sketch))
        .query(
            "dry_run",
            "`true`: make every check, fetch the input images, and keep nothing. Any other parameter is refused.",
            json!({"type": "boolean", "default": false}),
        )
        .header(
            cancel_after::HEADER,
            "How long the job may stay queued: a number of seconds, minutes or hours. A job that has not begun by then fails with `expired before it started`, unpaid.",
            json!({"type": "string", "pattern": "^[0-9]+[smh]$", "examples": ["30s", "5m", "1h"]}),
        )
        .idempotent("Your name for this request. Repeat the call under the same one as often as you like: there will be one job.")
        .body(bodies::generation(endpoint, sketch), &requests(endpoint, sketch))
        .answer(accepted)
        .answer(estimated)
        .refuses([
            Code::InsufficientBalance,
            Code::KeyLimitReached,
            Code::AccountLimitReached,
            Code::ModelNotAllowed,
            Code::StorageUnavailable,
            Code::Paused,
        ])
}

fn named(endpoint: Endpoint) -> (&'static str, &'static str) {
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

fn text(endpoint: Endpoint, sketch: &Sketch<'_>) -> String {
    let offer = sketch.catalog.tier(endpoint.tier);
    let price = |(size, price): &(_, _)| format!("{size} {price}");
    let prices: Vec<String> = offer.prices.iter().map(price).collect();
    let from = match endpoint.mode {
        Mode::TextToImage => "Makes a job that draws what the prompt says.",
        Mode::ImageToImage => {
            "Makes a job that draws what the prompt says, from input images that are fetched while the call waits."
        }
    };
    format!(
        "{from}\n\nThe model is **{}**. Price by size: {}.",
        endpoint.tier,
        prices.join(", ")
    )
}

/// The first ratio that is on sale, and 16:9 if it is.
fn ratio(endpoint: Endpoint, sketch: &Sketch<'_>) -> String {
    let offer = sketch.catalog.tier(endpoint.tier);
    let ratios: Vec<String> = offer
        .aspect_ratios
        .iter()
        .map(ToString::to_string)
        .collect();
    let wide = ratios.iter().find(|it| *it == "16:9");
    wide.or(ratios.first()).cloned().unwrap_or_default()
}

fn estimate(endpoint: Endpoint, sketch: &Sketch<'_>) -> Value {
    let offer = sketch.catalog.tier(endpoint.tier);
    let first = offer.prices.first();
    json!({
        "price": first.map(|(_, price)| price.to_string()),
        "tier": endpoint.tier.word(),
        "mode": endpoint.mode.word(),
        "aspect_ratio": ratio(endpoint, sketch),
        "resolution": first.map(|(size, _)| size.word()),
        "available": "100.00",
    })
}

fn requests(endpoint: Endpoint, sketch: &Sketch<'_>) -> Vec<(&'static str, Value)> {
    let ratio = ratio(endpoint, sketch);
    let sizes: Vec<&str> = sketch
        .catalog
        .tier(endpoint.tier)
        .resolution_words()
        .collect();
    let inputs = json!(["https://pictures.example/fox.png"]);
    let mut least = json!({"prompt": "a lighthouse in a storm at night", "aspect_ratio": ratio});
    let mut most = json!({
        "prompt": "the same in autumn, as a woodcut",
        "aspect_ratio": ratio,
        "metadata": {"order": "4711", "_internal": true},
    });
    if let (true, Some(largest)) = (endpoint.tier != Tier::Fast, sizes.last()) {
        most["resolution"] = (*largest).into();
    }
    if endpoint.mode == Mode::ImageToImage {
        least["prompt"] = "the same at night".into();
        least["input_images_urls"] = inputs.clone();
        most["input_images_urls"] = inputs;
    }
    vec![("Minimal", least), ("Full", most)]
}
