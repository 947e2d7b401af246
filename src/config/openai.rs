//! The keys of a back end of kind "openai", whose interface each server reads in its own way.

use serde::Serialize;

use super::reader::Section;
use super::values::{free_name, or_empty, text};

/// How such a server is to be spoken to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenAiDialect {
    /// Is the server told to answer with base64?
    pub response_format: ResponseFormat,
    /// Where the input images go.
    pub image_field: ImageField,
    /// `low`, `medium`, `high`, or what else the server knows; `None`: not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality: Option<String>,
}

/// Whether `response_format` is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

impl OpenAiDialect {
    /// The keys that only this kind has.
    pub(super) const KEYS: [&str; 3] = ["response_format", "image_field", "quality"];

    pub(super) fn read(s: &mut Section<'_>) -> Self {
        let response_format = text(|word| match word {
            "auto" => Ok(ResponseFormat::Auto),
            "b64_json" => Ok(ResponseFormat::B64Json),
            "none" => Ok(ResponseFormat::None),
            _ => Err("one of: auto, b64_json, none".to_owned()),
        });
        let image_field = text(|word| match word {
            "auto" => Ok(ImageField::Auto),
            "image" => Ok(ImageField::Image),
            "image[]" => Ok(ImageField::ImageList),
            "file" => Ok(ImageField::File),
            _ => Err("one of: auto, image, image[], file".to_owned()),
        });
        Self {
            response_format: s
                .optional("response_format", response_format)
                .unwrap_or(ResponseFormat::Auto),
            image_field: s
                .optional("image_field", image_field)
                .unwrap_or(ImageField::Auto),
            quality: s.optional("quality", text(or_empty(free_name))).flatten(),
        }
    }
}
