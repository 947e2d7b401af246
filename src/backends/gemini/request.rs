//! The body of a `generateContent` call.

use super::model::Model;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::Serialize;
use tintype_actors::ports::GenerationTask;
use tintype_imaging::fit::FittedImage;
use tintype_storage::json;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: [Content<'a>; 1],
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a> {
    #[serde(rename_all = "camelCase")]
    InlineData {
        mime_type: &'static str,
        data: String,
    },
    Text(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    response_modalities: [&'static str; 1],
    image_config: ImageConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageConfig {
    aspect_ratio: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_size: Option<&'static str>,
}

/// Serializes the body, with the input images before the prompt. CPU-heavy: call it on the blocking pool.
pub fn body(task: &GenerationTask, model: &Model, inputs: &[FittedImage]) -> Bytes {
    let mut parts: Vec<Part<'_>> = inputs
        .iter()
        .map(|input| Part::InlineData {
            mime_type: input.kind.mime(),
            data: BASE64_STANDARD.encode(&input.bytes),
        })
        .collect();
    parts.push(Part::Text(&task.prompt));
    let body = Body {
        contents: [Content {
            role: "user",
            parts,
        }],
        generation_config: GenerationConfig {
            response_modalities: ["IMAGE"],
            image_config: ImageConfig {
                aspect_ratio: model.ratio(task.ratio).to_string(),
                image_size: model.size(task.resolution),
            },
        },
    };
    json::to_bytes(&body).into()
}
