//! The schema of a generation's body, which depends on the catalog.

use super::document_builder::DocumentBuilder;
use crate::api::generation::{self, Endpoint};
use serde_json::{Value, json};
use tintype_api::schema::{object, or_null, with_description, words};
use tintype_storage::domain::request::{
    MAX_INPUTS, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_URL_CHARS,
};
use tintype_storage::domain::tier::{Mode, Tier};

/// Includes the offered ratios and sizes.
pub fn generation(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> Value {
    let Endpoint { tier, mode } = endpoint;
    let required = match mode {
        Mode::TextToImage => &["prompt", "aspect_ratio"][..],
        Mode::ImageToImage => &["prompt", "aspect_ratio", "input_images_urls"],
    };
    let schema = |name| match name {
        "prompt" => json!({
            "type": "string",
            "minLength": 1,
            "maxLength": builder.config.jobs.max_prompt_chars,
            // At least one character other than NUL.
            "pattern": "[^\\u0000]",
            "description": "What the image shows. NUL characters are removed before the length is checked.",
        }),
        "aspect_ratio" => aspect_ratio(endpoint, builder),
        "resolution" => resolution(tier, builder),
        "input_images_urls" => json!({
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_INPUTS,
            "items": {"type": "string", "format": "uri", "pattern": "^https?://", "maxLength": MAX_URL_CHARS},
            "description": format!(
                "URLs of the input images, fetched during the call: PNG, JPEG, WebP, GIF, HEIC or AVIF, at most {} bytes in total, within {} s, from public addresses.",
                builder.config.inputs.max_total_bytes, builder.config.inputs.timeout_seconds,
            ),
        }),
        "callback_url" => json!({
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": MAX_URL_CHARS,
            "description": "The webhook that receives the event of this job: the exact URL of a registered webhook. Default: the oldest one.",
        }),
        "metadata" => json!({
            "type": ["object", "null"],
            "additionalProperties": true,
            "description": format!(
                "Your own data, returned in the webhook: at most {MAX_METADATA_BYTES} bytes as compact JSON, {MAX_METADATA_DEPTH} levels deep. Keys that begin with `_` are stored but not sent."
            ),
        }),
        _ => Value::Null,
    };
    let fields = generation::fields(mode);
    object(fields.map(|name| (name, schema(name))).collect(), required)
}

fn aspect_ratio(endpoint: Endpoint, builder: &DocumentBuilder<'_>) -> Value {
    let offer = builder.catalog.tier(endpoint.tier);
    let auto = offer.auto && endpoint.mode == Mode::ImageToImage;
    let ratios = offer.aspect_ratios.iter().map(ToString::to_string);
    let schema = words(ratios.chain(auto.then(|| "auto".to_owned())));
    let text = match auto {
        true => {
            "The shape, width to height. `auto` is the ratio nearest to that of the first input image."
        }
        false => "The shape, width to height.",
    };
    with_description(schema, text)
}

fn resolution(tier: Tier, builder: &DocumentBuilder<'_>) -> Value {
    if tier == Tier::Fast {
        let text =
            "Not accepted on this model, which always generates 1K. `null` counts as omitted.";
        return with_description(json!({"type": "null"}), text);
    }
    let mut schema = or_null(words(builder.catalog.tier(tier).resolution_names()));
    schema["default"] = "1K".into();
    with_description(schema, "The size. `null` counts as omitted.")
}
