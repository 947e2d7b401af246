//! The keys of kind `openai`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::readers::{further_fields, max_pixels};
use crate::config::node::Item;
use crate::config::reader::Field;
use crate::config::section::settings;
use crate::config::values::{free_name, integer, or_empty, text, variant};

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

/// As [`max_pixels`]; 0 means no limit.
fn or_no_limit(field: &Field<'_>) -> Option<Option<u64>> {
    match field.node.item {
        Item::Integer(0) => Some(None),
        _ => max_pixels(field).map(Some),
    }
}
