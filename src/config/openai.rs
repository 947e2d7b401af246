//! The keys of a back end of kind "openai", whose interface each server reads in its own way.

use serde::{Deserialize, Serialize};

use super::section::settings;
use super::values::{free_name, or_empty, text, word};

settings! {
    /// How such a server is to be spoken to.
    pub struct OpenAiDialect {
        /// Is the server told to answer with base64?
        pub response_format: ResponseFormat =
            text(word("one of: auto, b64_json, none")), ResponseFormat::Auto;
        /// Where the input images go.
        pub image_field: ImageField =
            text(word("one of: auto, image, image[], file")), ImageField::Auto;
        /// `low`, `medium`, `high`, or what else the server knows; `None`: not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quality: Option<String> = text(or_empty(free_name)), None;
    }
}

/// Whether `response_format` is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Sent, but not for OpenAI's own models, which refuse it.
    Auto,
    /// Always sent.
    B64Json,
    /// Never sent.
    None,
}

/// Where input images go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageField {
    /// One as `image`, several as `image[]`, as OpenAI's own clients do it.
    #[serde(rename = "auto")]
    Auto,
    /// Each as `image`.
    #[serde(rename = "image")]
    Image,
    /// Each as `image[]`.
    #[serde(rename = "image[]")]
    ImageList,
    /// The only one as base64 in the field `file` of a generation, as LocalAI takes it.
    #[serde(rename = "file")]
    File,
}
