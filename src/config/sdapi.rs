//! What a back end of kind `sdapi` takes besides its address: how pictures are sampled, and how large at a time.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::local::{MAX_PIXELS, max_pixels};
use super::node::{Item, Tree};
use super::reader::{Field, Section};
use super::values::{boolean, free_name, integer, number, or_empty, text};

/// Bytes of a negative prompt.
const MAX_NEGATIVE: usize = 8_192;
/// How deep a value of `override_settings` may be nested.
const MAX_DEPTH: usize = 8;

/// The settings of the `/sdapi/v1` interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SdApiSettings {
    /// The checkpoint where a tier names none; `None`: the one that is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The sampler by the server's name; `None`: its own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
    /// The noise schedule by the server's name; `None`: its own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Sampling steps.
    pub steps: u32,
    /// How closely the prompt is followed.
    pub cfg_scale: f64,
    /// What must not be seen.
    pub negative_prompt: String,
    /// How much of an input image is painted over: 0 nothing, 1 everything.
    pub denoising_strength: f64,
    /// Most pixels that the model is asked for; a larger picture is enlarged from that.
    pub max_pixels: u64,
    /// What enlarges, by the server's name; `None`: Tintype itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upscaler: Option<String>,
    /// Whether input images go as references, for models that edit, instead of as what is painted over.
    pub reference_inputs: bool,
    /// Whether the servers' own syntax works in the prompts of callers.
    pub prompt_syntax: bool,
    /// Options of the server for each request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub override_settings: BTreeMap<String, Value>,
}

impl Default for SdApiSettings {
    fn default() -> Self {
        Self {
            checkpoint: None,
            sampler: None,
            scheduler: None,
            steps: 25,
            cfg_scale: 7.0,
            negative_prompt: String::new(),
            denoising_strength: 0.75,
            max_pixels: MAX_PIXELS,
            upscaler: None,
            reference_inputs: false,
            prompt_syntax: false,
            override_settings: BTreeMap::new(),
        }
    }
}

impl SdApiSettings {
    /// Reads the keys of this kind from the section of a back end.
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let default = Self::default();
        let words = |text: &str| match text.len() <= MAX_NEGATIVE && !text.contains('\0') {
            true => Ok(text.to_owned()),
            false => Err(format!("at most {MAX_NEGATIVE} bytes without NUL")),
        };
        Self {
            checkpoint: name(s, "checkpoint"),
            sampler: name(s, "sampler"),
            scheduler: name(s, "scheduler"),
            steps: s
                .optional("steps", integer(1..=150))
                .unwrap_or(default.steps),
            cfg_scale: s
                .optional("cfg_scale", number(0.0..=30.0))
                .unwrap_or(default.cfg_scale),
            negative_prompt: s
                .optional("negative_prompt", text(words))
                .unwrap_or_default(),
            denoising_strength: s
                .optional("denoising_strength", number(0.0..=1.0))
                .unwrap_or(default.denoising_strength),
            max_pixels: max_pixels(s),
            upscaler: name(s, "upscaler"),
            reference_inputs: s.optional("reference_inputs", boolean).unwrap_or_default(),
            prompt_syntax: s.optional("prompt_syntax", boolean).unwrap_or_default(),
            override_settings: s.optional("override_settings", options).unwrap_or_default(),
        }
    }
}

fn name<'t>(s: &mut Section<'t>, key: &'t str) -> Option<String> {
    s.optional(key, text(or_empty(free_name))).flatten()
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
