//! The settings of backends of kind `sdapi`, besides their address.

use std::collections::BTreeMap;

use serde_json::Value;

use super::local::{MAX_PIXELS, max_pixels};
use super::node::{Item, Tree};
use super::reader::Field;
use super::section::settings;
use super::values::{accept_if, boolean, free_name, integer, number, or_empty, text};

const MAX_NEGATIVE_PROMPT_BYTES: usize = 8_192;
/// Of a value in `override_settings`.
const MAX_DEPTH: usize = 8;

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
        pub max_pixels: u64 = max_pixels, MAX_PIXELS;
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

/// Reads a table of any shape as JSON.
fn options(field: &Field<'_>) -> Option<BTreeMap<String, Value>> {
    let tree = field.table()?;
    if tree.contains_key("sd_model_checkpoint") {
        field
            .fault("expected no sd_model_checkpoint in here; it goes into `checkpoint`".to_owned());
        return None;
    }
    match json_of(tree, 0) {
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
