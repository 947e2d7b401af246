//! The settings of backends of kind `openai`: servers implement the OpenAI API in different ways.

use serde::{Deserialize, Serialize};

use super::section::settings;
use super::values::{free_name, or_empty, text, word};

settings! {
    pub struct OpenAiDialect {
        pub response_format: ResponseFormat =
            text(word("one of: auto, b64_json, none")), ResponseFormat::Auto;
        pub image_field: ImageField =
            text(word("one of: auto, image, image[], file")), ImageField::Auto;
        /// `low`, `medium`, `high`, or another value that the server knows. `None`: not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quality: Option<String> = text(or_empty(free_name)), None;
    }
}

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
