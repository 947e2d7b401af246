//! Builds the bodies of the two calls: a generation as JSON, an edit as a multipart form.

use super::super::upstream::{Form, Part};
use super::super::without_directives;
use super::size::Family;
use crate::backends::inputs::file_name;
use crate::backends::local::size::native;
use crate::config::{ImageField, OpenAiDialect, ResponseFormat, SeedFormat};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tintype_actors::ports::GenerationTask;
use tintype_imaging::fit::FittedImage;
use tintype_storage::json;

/// The fields of both calls.
#[derive(Clone, Debug, Serialize)]
pub struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    prompt: String,
    n: u8,
    size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    /// The operator's own.
    #[serde(flatten)]
    request: BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct Generation<'a> {
    #[serde(flatten)]
    fields: &'a Fields,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Fields {
    /// For servers other than OpenAI's, the prompt is stripped of the caller's server directives.
    pub fn of(task: &GenerationTask, family: Family, dialect: &OpenAiDialect) -> Self {
        let (width, height) = match (family, dialect.max_pixels) {
            (Family::Any, Some(most)) => native(task.pixels, most),
            _ => family.size(task.ratio, task.pixels),
        };
        let base64 = match dialect.response_format {
            ResponseFormat::Auto => family == Family::Any,
            ResponseFormat::B64Json => true,
            ResponseFormat::None => false,
        };
        let seed_format = match dialect.seed {
            SeedFormat::Auto if family == Family::Any => SeedFormat::Field,
            SeedFormat::Auto => SeedFormat::None,
            configured => configured,
        };
        let seed = seed(task);
        let prompt = match (seed_format, family) {
            (SeedFormat::SdCppExtraArgs, _) => {
                let prompt = without_directives(&task.prompt);
                format!(r#"{prompt}<sd_cpp_extra_args>{{"seed":{seed}}}</sd_cpp_extra_args>"#)
            }
            (_, Family::Any) => without_directives(&task.prompt),
            (_, Family::ThreeSizes | Family::Bounded) => task.prompt.clone(),
        };
        Self {
            model: task.model.clone(),
            prompt,
            n: 1,
            size: format!("{width}x{height}"),
            quality: dialect.quality.clone(),
            // Other servers may refuse it. An image that has to be opaque is made opaque before it is stored.
            background: task
                .background
                .filter(|_| family != Family::Any)
                .map(|it| it.to_string()),
            response_format: base64.then_some("b64_json"),
            seed: (seed_format == SeedFormat::Field).then_some(seed),
            request: dialect.request.clone(),
        }
    }

    /// The body of a generation. Some servers take one input image in it. CPU-heavy: call it on the blocking pool.
    pub fn json(&self, input: Option<&FittedImage>) -> Bytes {
        let body = Generation {
            fields: self,
            file: input.map(|it| BASE64_STANDARD.encode(&it.bytes)),
        };
        json::to_bytes(&body).into()
    }

    /// The form of an edit: text fields before files, in the order of OpenAI's own clients.
    pub fn form(
        self,
        inputs: &[FittedImage],
        mask: Option<&FittedImage>,
        field: ImageField,
    ) -> Form {
        let texts = [
            ("model", self.model),
            ("prompt", Some(self.prompt)),
            ("n", Some(self.n.to_string())),
            ("size", Some(self.size)),
            ("quality", self.quality),
            ("background", self.background),
            ("response_format", self.response_format.map(str::to_owned)),
            ("seed", self.seed.map(|it| it.to_string())),
        ];
        let mut form = Form::new();
        for (name, value) in texts {
            if let Some(value) = value {
                form = form.text(name, value);
            }
        }
        for (name, value) in self.request {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            form = form.text(name, text);
        }
        let name = match field {
            ImageField::ImageList => "image[]",
            ImageField::Auto if inputs.len() > 1 => "image[]",
            ImageField::Auto | ImageField::Image | ImageField::File => "image",
        };
        for (index, input) in inputs.iter().enumerate() {
            form = form.part(name, file(input, index + 1));
        }
        if let Some(mask) = mask {
            form = form.part("mask", file(mask, inputs.len() + 1));
        }
        form
    }
}

/// Every run of a job uses the same seed, so that a rerun generates the same image. 31 bits fit the signed integers of all servers.
fn seed(task: &GenerationTask) -> u32 {
    // The last bits of an id are random.
    task.job.0.as_u128() as u32 & 0x7fff_ffff
}

fn file(input: &FittedImage, number: usize) -> Part {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(input.kind.mime()));
    let length = input.bytes.len() as u64;
    Part::stream_with_length(input.bytes.clone(), length)
        .file_name(file_name(input, number))
        .headers(headers)
}
