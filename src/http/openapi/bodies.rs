//! The schema of a generation's body, which depends on what is on sale.

use super::sketch::Sketch;
use crate::api::generation::{self, Endpoint};
use serde_json::{Value, json};
use tintype_api::schema::{described, object, or_null, words};
use tintype_storage::domain::request::{
    MAX_INPUTS, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_URL_CHARS,
};
use tintype_storage::domain::tier::{Mode, Tier};

/// The body of a generation call, with the ratios and sizes that are on sale.
pub fn generation(endpoint: Endpoint, sketch: &Sketch<'_>) -> Value {
    let Endpoint { tier, mode } = endpoint;
    let required = match mode {
        Mode::TextToImage => &["prompt", "aspect_ratio"][..],
        Mode::ImageToImage => &["prompt", "aspect_ratio", "input_images_urls"],
    };
    let schema = |name| match name {
        "prompt" => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": sketch.config.jobs.max_prompt_chars,
            // At least one character that is not taken out.
            "pattern": "[^\\u0000]",
            "description": "What the picture is to show. NUL characters are taken out before it is counted.",
        }),
        "aspect_ratio" => aspect_ratio(endpoint, sketch),
        "resolution" => resolution(tier, sketch),
        "input_images_urls" => json!({
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_INPUTS,
            "items": {"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": MAX_URL_CHARS},
            "description": format!(
                "The input images, fetched while the call waits: PNG, JPEG, WebP, GIF, HEIC or AVIF, {} bytes together, within {} s, from public addresses.",
                sketch.config.inputs.max_total_bytes, sketch.config.inputs.timeout_seconds,
            ),
        }),
        "callback_url" => json!({
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_URL_CHARS,
            "description": "Which webhook hears of this job: the URL of one that is registered, character for character. Left out: the oldest.",
        }),
        "metadata" => json!({
            "type": ["object", "null"],
            "additionalProperties": true,
            "description": format!(
                "Anything of yours, given back in the webhook: at most {MAX_METADATA_BYTES} bytes as compact JSON, {MAX_METADATA_DEPTH} levels deep. Keys that begin with `_` are kept but not sent."
            ),
        }),
        _ => Value::Null,
    };
    let fields = generation::fields(mode).iter();
    object(
        fields.map(|name| (*name, schema(*name))).collect(),
        required,
    )
}

fn aspect_ratio(endpoint: Endpoint, sketch: &Sketch<'_>) -> Value {
    let offer = sketch.catalog.tier(endpoint.tier);
    let auto = offer.auto && endpoint.mode == Mode::ImageToImage;
    let ratios = offer.aspect_ratios.iter().map(ToString::to_string);
    let schema = words(ratios.chain(auto.then(|| "auto".to_owned())));
    let text = match auto {
        true => {
            "The shape, width to height. `auto` is the ratio nearest to the first input image's."
        }
        false => "The shape, width to height.",
    };
    described(schema, text)
}

fn resolution(tier: Tier, sketch: &Sketch<'_>) -> Value {
    if tier == Tier::Fast {
        let text = "Not accepted on this model, which always makes 1K; `null` counts as left out.";
        return described(json!({"type": "null"}), text);
    }
    let mut schema = or_null(words(sketch.catalog.tier(tier).resolution_words()));
    schema["default"] = "1K".into();
    described(schema, "The size. `null` counts as left out.")
}
