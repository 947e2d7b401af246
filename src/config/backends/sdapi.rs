//! The keys of kind `sdapi`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::readers::{DEFAULT_MAX_PIXELS, further_fields, json_table, max_pixels};
use crate::config::reader::Field;
use crate::config::section::settings;
use crate::config::values::{accept_if, boolean, free_name, integer, number, or_empty, text};

/// Of `negative_prompt` and `prompt_template`.
const MAX_PROMPT_BYTES: usize = 8_192;
/// The place of the caller's prompt in `prompt_template`.
pub const PROMPT_PLACEHOLDER: &str = "{prompt}";
/// The fields of a request of kind `sdapi` that Tintype sets itself, so that `request` cannot contain them. Not
/// `denoising_strength`, which it sets for input images only: a text-to-image request may need it for its second pass.
pub const SDAPI_FIELDS: [&str; 25] = [
    "batch_size",
    "cfg_scale",
    "extra_images",
    "force_task_id",
    "height",
    "include_init_images",
    "init_images",
    "inpaint_full_res",
    "inpainting_fill",
    "inpainting_mask_invert",
    "mask",
    "n_iter",
    "negative_prompt",
    "override_settings",
    "override_settings_restore_afterwards",
    "prompt",
    "resize_mode",
    "sampler_index",
    "sampler_name",
    "save_images",
    "scheduler",
    "seed",
    "send_images",
    "steps",
    "width",
];

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
        pub negative_prompt: String = text(prompt), String::new();
        /// The operator's text around a caller's prompt, in the server's own syntax.
        pub prompt_template: String = text(prompt_template), PROMPT_PLACEHOLDER.to_owned();
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
        /// Does the server restore its own options after each request?
        pub restore_settings: bool = boolean, true;
        /// Further fields of each request.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub request: BTreeMap<String, Value> = further_fields(&SDAPI_FIELDS), BTreeMap::new();
    }
}

fn prompt(text: &str) -> Result<String, String> {
    let is_valid = text.len() <= MAX_PROMPT_BYTES && !text.contains('\0');
    accept_if(
        text,
        is_valid,
        &format!("at most {MAX_PROMPT_BYTES} bytes without NUL"),
    )
}

fn prompt_template(text: &str) -> Result<String, String> {
    let text = prompt(text)?;
    let is_valid = text.matches(PROMPT_PLACEHOLDER).count() == 1;
    accept_if(
        &text,
        is_valid,
        &format!("a text with {PROMPT_PLACEHOLDER} once"),
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
