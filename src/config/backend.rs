//! A configured backend, which generates images, and the settings of each kind.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::node::{Item, Tree};
use super::reader::Field;
use super::secret::Secret;
use super::section::settings;
use super::values::{
    accept_if, boolean, free_name, integer, number, or_empty, path, text, variant,
};

/// The backend that always exists. Tiers use it until the operator names another.
pub const BUILTIN_BACKEND: &str = "builtin";

/// The largest 1K size: SDXL models are trained for it.
const DEFAULT_MAX_PIXELS: u64 = 1_179_648;

const MAX_NEGATIVE_PROMPT_BYTES: usize = 8_192;
/// Of a value in `override_settings` and `request`.
const MAX_DEPTH: usize = 8;

/// Of one attempt. The built-in generator has no configured timeout.
const BUILTIN_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backend {
    #[serde(flatten)]
    pub kind: BackendKind,
    /// How many images it generates at the same time.
    pub concurrency: usize,
    /// Is `concurrency` the default of the kind?
    #[serde(skip)]
    pub has_default_concurrency: bool,
    /// Does `concurrency` limit all nodes of a cluster together, or each of them?
    pub shared: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum BackendKind {
    /// The built-in generator.
    Procedural,
    Gemini {
        #[serde(flatten)]
        remote: Remote,
        /// For tiers that name no model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The OpenAI images API, which many local servers implement too.
    OpenAi {
        #[serde(flatten)]
        remote: Remote,
        /// For tiers that name no model.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(flatten)]
        dialect: OpenAiDialect,
    },
    /// The `/sdapi/v1` API of AUTOMATIC1111 and its forks. The API key is `user:password` there.
    SdApi {
        #[serde(flatten)]
        remote: Remote,
        #[serde(flatten)]
        settings: SdApiSettings,
    },
    ComfyUi {
        #[serde(flatten)]
        remote: Remote,
        #[serde(flatten)]
        settings: ComfyUiSettings,
    },
}

/// The settings of every backend behind HTTP.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remote {
    /// `http` or `https`, without a slash at the end.
    pub base_url: String,
    /// Of one attempt.
    pub timeout_seconds: u64,
    /// Further attempts after a transient error.
    pub retries: u32,
    /// The configured key, or the one from the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// The environment variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Sent with every request. The values may be secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
}

impl Remote {
    /// Of one attempt.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

impl Backend {
    /// `None`: the built-in generator.
    pub fn remote(&self) -> Option<&Remote> {
        match &self.kind {
            BackendKind::Procedural => None,
            BackendKind::Gemini { remote, .. }
            | BackendKind::OpenAi { remote, .. }
            | BackendKind::SdApi { remote, .. }
            | BackendKind::ComfyUi { remote, .. } => Some(remote),
        }
    }

    /// Of one attempt.
    pub fn timeout(&self) -> Duration {
        self.remote().map_or(BUILTIN_TIMEOUT, |it| it.timeout())
    }

    /// Further attempts after a transient error.
    pub fn retries(&self) -> u32 {
        self.remote().map_or(0, |it| it.retries)
    }
}

settings! {
    pub struct OpenAiDialect {
        pub response_format: ResponseFormat =
            text(variant("one of: auto, b64_json, none")), ResponseFormat::Auto;
        pub image_field: ImageField =
            text(variant("one of: auto, image, image[], file")), ImageField::Auto;
        pub mask: MaskFormat = text(variant("one of: auto, alpha, luma, none")), MaskFormat::Auto;
        pub seed: SeedFormat =
            text(variant("one of: auto, field, sd_cpp_extra_args, none")), SeedFormat::Auto;
        /// `low`, `medium`, `high`, or another value that the server knows. `None`: not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quality: Option<String> = text(or_empty(free_name)), None;
        /// Input images that the model takes at most, besides a mask.
        pub max_inputs: usize = integer(0..=16), 16;
        /// Pixels that a model of another server than OpenAI generates at most. Larger images are upscaled. `None`: every size is
        /// requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_pixels: Option<u64> = or_no_limit, None;
        /// Further fields of each request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub request: BTreeMap<String, Value> = further_fields(&OPENAI_FIELDS), BTreeMap::new();
    }
}

/// Fields of the OpenAI images API that Tintype sets, or whose default it relies on.
const OPENAI_FIELDS: [&str; 16] = [
    "background",
    "file",
    "image",
    "image[]",
    "mask",
    "model",
    "n",
    "output_compression",
    "output_format",
    "partial_images",
    "prompt",
    "quality",
    "response_format",
    "seed",
    "size",
    "stream",
];

/// When requests contain `response_format: b64_json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// For all models but OpenAI's own, which refuse it.
    Auto,
    /// Always.
    B64Json,
    /// Never.
    None,
}

/// The form field of input images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageField {
    /// One image as `image`, several as `image[]`, like OpenAI's own clients.
    #[serde(rename = "auto")]
    Auto,
    /// Each as `image`.
    #[serde(rename = "image")]
    Image,
    /// Each as `image[]`.
    #[serde(rename = "image[]")]
    ImageList,
    /// The only image as base64 in the field `file` of a generation, for LocalAI.
    #[serde(rename = "file")]
    File,
}

/// How the server reads the mask of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskFormat {
    /// `Alpha` for OpenAI's own models, `None` for all others.
    Auto,
    /// Transparent where the image may change.
    Alpha,
    /// White where the image may change.
    Luma,
    /// Not at all.
    None,
}

/// How requests contain the seed. Servers with a fixed default seed generate the same image for each job with the same prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedFormat {
    /// `Field` for all models but OpenAI's own, which refuse it.
    Auto,
    /// As `seed`.
    Field,
    /// In a directive at the end of the prompt, for stable-diffusion.cpp.
    SdCppExtraArgs,
    /// Not at all.
    None,
}

settings! {
    pub struct SdApiSettings {
        /// For tiers that name no model. `None`: the checkpoint that the server has loaded.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoint: Option<String> = text(or_empty(free_name)), None;
        /// The server's name of the sampler. `None`: the server's default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sampler: Option<String> = text(or_empty(free_name)), None;
        /// The server's name of the noise schedule. `None`: the server's default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scheduler: Option<String> = text(or_empty(free_name)), None;
        /// Sampling steps.
        pub steps: u32 = integer(1..=150), 25;
        /// How closely the image follows the prompt.
        pub cfg_scale: f64 = number(0.0..=30.0), 7.0;
        pub negative_prompt: String = text(negative_prompt), String::new();
        /// How much of an input image the model changes, from 0 (nothing) to 1 (everything).
        pub denoising_strength: f64 = number(0.0..=1.0), 0.75;
        /// Pixels that the model generates at most. Larger images are upscaled.
        pub max_pixels: u64 = max_pixels, DEFAULT_MAX_PIXELS;
        /// The server's name of the upscaler. `None`: Tintype upscales.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub upscaler: Option<String> = text(or_empty(free_name)), None;
        /// Are input images sent as references, for edit models, instead of as the initial image?
        pub reference_inputs: bool = boolean, false;
        /// May callers use the server's prompt syntax?
        pub prompt_syntax: bool = boolean, false;
        /// Server options sent with each request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub override_settings: BTreeMap<String, Value> = options, BTreeMap::new();
    }
}

fn negative_prompt(text: &str) -> Result<String, String> {
    let is_valid = text.len() <= MAX_NEGATIVE_PROMPT_BYTES && !text.contains('\0');
    accept_if(
        text,
        is_valid,
        &format!("at most {MAX_NEGATIVE_PROMPT_BYTES} bytes without NUL"),
    )
}

fn options(field: &Field<'_>) -> Option<BTreeMap<String, Value>> {
    if field.table()?.contains_key("sd_model_checkpoint") {
        field
            .fault("expected no sd_model_checkpoint in here; it goes into `checkpoint`".to_owned());
        return None;
    }
    json_table(field)
}

/// Reads a table of fields that are sent with each request, none of which may be one of `own`.
fn further_fields(own: &[&str]) -> impl Fn(&Field<'_>) -> Option<BTreeMap<String, Value>> {
    move |field| {
        if let Some(key) = field.table()?.keys().find(|it| own.contains(&it.as_str())) {
            field.fault(format!(
                "expected no {key} in here; Tintype sets this field itself"
            ));
            return None;
        }
        json_table(field)
    }
}

/// Reads a table of any shape as JSON.
fn json_table(field: &Field<'_>) -> Option<BTreeMap<String, Value>> {
    match json_of(field.table()?, 0) {
        Some(options) => Some(options.into_iter().collect()),
        None => {
            field.fault(format!(
                "expected strings, finite numbers, booleans, lists and tables at most {MAX_DEPTH} deep"
            ));
            None
        }
    }
}

fn json_of(tree: &Tree, depth: usize) -> Option<serde_json::Map<String, Value>> {
    tree.iter()
        .map(|(key, node)| Some((key.clone(), json_value(&node.item, depth + 1)?)))
        .collect()
}

fn json_value(item: &Item, depth: usize) -> Option<Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match item {
        Item::Text(text) => Value::from(text.as_str()),
        Item::Integer(number) => Value::from(i64::try_from(*number).ok()?),
        Item::Float(number) => Value::Number(serde_json::Number::from_f64(*number)?),
        Item::Boolean(on) => Value::from(*on),
        Item::List(nodes) => Value::Array(
            nodes
                .iter()
                .map(|node| json_value(&node.item, depth + 1))
                .collect::<Option<_>>()?,
        ),
        Item::Table(tree) => Value::Object(json_of(tree, depth)?),
        Item::Other(_) => return None,
    })
}

settings! {
    pub struct ComfyUiSettings {
        /// For tiers that name no model. `None`: the first checkpoint that the server lists.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoint: Option<String> = text(or_empty(free_name)), None;
        /// For text-to-image. `None`: the built-in workflow.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_text: Option<PathBuf> = text(or_empty(path)), None;
        /// For image-to-image. `None`: the built-in workflow.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_image: Option<PathBuf> = text(or_empty(path)), None;
        /// Pixels that a workflow generates at most. Larger images are upscaled.
        pub max_pixels: u64 = max_pixels, DEFAULT_MAX_PIXELS;
    }
}

/// As [`max_pixels`]; 0 means no limit.
fn or_no_limit(field: &Field<'_>) -> Option<Option<u64>> {
    match field.node.item {
        Item::Integer(0) => Some(None),
        _ => max_pixels(field).map(Some),
    }
}

fn max_pixels(field: &Field<'_>) -> Option<u64> {
    integer(65_536..=268_435_456)(field)
}
