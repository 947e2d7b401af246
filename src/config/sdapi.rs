//! What a back end of kind `sdapi` takes besides its address: how pictures are sampled, and how large at a time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::local::{MAX_PIXELS, max_pixels};
use super::node::{Item, Tree};
use super::reader::Field;
use super::section::settings;
use super::values::{boolean, fitting, free_name, integer, number, or_empty, text};

/// Bytes of a negative prompt.
const MAX_NEGATIVE: usize = 8_192;
/// How deep a value of `override_settings` may be nested.
const MAX_DEPTH: usize = 8;

settings! {
    /// The settings of the `/sdapi/v1` interface.
    pub struct SdApiSettings {
        /// The checkpoint where a tier names none; `None`: the one that is loaded.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoint: Option<String> = text(or_empty(free_name)), None;
        /// The sampler by the server's name; `None`: its own default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sampler: Option<String> = text(or_empty(free_name)), None;
        /// The noise schedule by the server's name; `None`: its own default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub scheduler: Option<String> = text(or_empty(free_name)), None;
        /// Sampling steps.
        pub steps: u32 = integer(1..=150), 25;
        /// How closely the prompt is followed.
        pub cfg_scale: f64 = number(0.0..=30.0), 7.0;
        /// What must not be seen.
        pub negative_prompt: String = text(negative_prompt), String::new();
        /// How much of an input image is painted over: 0 nothing, 1 everything.
        pub denoising_strength: f64 = number(0.0..=1.0), 0.75;
        /// Most pixels that the model is asked for; a larger picture is enlarged from that.
        pub max_pixels: u64 = max_pixels, MAX_PIXELS;
        /// What enlarges, by the server's name; `None`: Tintype itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub upscaler: Option<String> = text(or_empty(free_name)), None;
        /// Whether input images go as references, for models that edit, instead of as what is painted over.
        pub reference_inputs: bool = boolean, false;
        /// Whether the servers' own syntax works in the prompts of callers.
        pub prompt_syntax: bool = boolean, false;
        /// Options of the server for each request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub override_settings: BTreeMap<String, Value> = options, BTreeMap::new();
    }
}

fn negative_prompt(text: &str) -> Result<String, String> {
    let is_fit = text.len() <= MAX_NEGATIVE && !text.contains('\0');
    fitting(
        text,
        is_fit,
        &format!("at most {MAX_NEGATIVE} bytes without NUL"),
    )
}

/// A table of any shape, as JSON.
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
