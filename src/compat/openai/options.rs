//! Options of image generations and edits, sent as JSON or as form fields.

use super::image_background;
use super::size;
use crate::application::caller::payer::Payer;
use crate::application::settings::Settings;
use crate::application::submission::generation_request::{GenerationRequest, Input, Shape};
use crate::compat::jobs::submission;
use crate::compat::models;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::request_body::fields::Object;
use crate::compat::request_body::scanner::MAX_DEPTH;
use std::collections::BTreeMap;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::image_options::{Background, ImageOptions};
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::output_format::OutputFormat;
use tintype_storage::json::Json;

/// Maximum `n`.
const MAX_IMAGES: usize = 10;
/// Other options are ignored.
const KNOWN_OPTIONS: [&str; 11] = [
    "model",
    "prompt",
    "n",
    "size",
    "response_format",
    "output_format",
    "output_compression",
    "quality",
    "background",
    "stream",
    "partial_images",
];
/// Input images in a JSON body, under their names in other APIs. Ignoring them would charge for a different image.
const INPUT_OPTIONS: [&str; 4] = ["image", "images", "mask", "file"];
/// The beginning of the names of OpenAI's models whose default `response_format` is `url`.
const URL_MODELS: &str = "dall-e-";
/// The values of `quality` that a response may contain.
const QUALITIES: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];
/// Maximum `partial_images`.
const MAX_PARTIAL_IMAGES: u8 = 3;
/// `output_compression` without compression, the default.
const NO_COMPRESSION: u8 = 100;
const STRING_OPTIONS: [&str; 2] = ["model", "prompt"];
/// An image that OpenAI draws over the first input image.
pub const MARKUP: &str = "markup";

/// Unparsed options by name.
#[derive(Default)]
pub struct RawOptions(BTreeMap<&'static str, String>);

#[derive(Debug)]
pub struct Options {
    /// Model, size and price.
    pub offer: Offer,
    pub prompt: String,
    /// Number of images.
    pub count: usize,
    /// `None`: the aspect ratio of the first input image.
    pub ratio: Option<AspectRatio>,
    /// Respond with a URL instead of the image data.
    pub as_url: bool,
    /// `None`: the file as the backend returns it.
    pub output: Option<OutputFormat>,
    /// `None`: the backend's choice.
    pub background: Option<Background>,
    /// Respond with server-sent events.
    pub stream: bool,
    /// The responses repeat it. Images do not depend on it.
    pub quality: Option<&'static str>,
}

impl Options {
    /// The request for one image.
    pub fn request(
        &self,
        inputs: Vec<Input>,
        idempotency_key: Option<String>,
    ) -> GenerationRequest {
        let shape = self.ratio.map_or(Shape::OfInputOrSquare, Shape::Fixed);
        let (prompt, origin) = (self.prompt.clone(), Origin::Synchronous);
        GenerationRequest {
            options: ImageOptions {
                output: self.output,
                has_mask: false,
                background: self.background,
            },
            images: self.count,
            idempotency_key,
            ..GenerationRequest::new(self.offer, shape, prompt, inputs, origin)
        }
    }
}

pub fn unsupported_markup() -> Refusal {
    let message = "is not supported; draw on the image before you send it, or send a `mask`";
    Refusal::field(MARKUP, message)
}

impl RawOptions {
    /// # Errors
    /// The body is not a JSON object, the type of a known option is invalid, or an option contains an input image.
    pub fn of_json(body: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Refusal::body("the request body is not JSON: it is not UTF-8"))?;
        let json = Json::parse(text, MAX_DEPTH)?;
        Self::of_object(&Object::of("", &json)?, &[])
    }

    /// The members of an object, without the `others`, which are no options. `null` counts as missing.
    ///
    /// # Errors
    /// The type of a known option is invalid, or an option contains an input image.
    pub fn of_object(object: &Object<'_>, others: &[&str]) -> Result<Self, Refusal> {
        let mut options = Self::default();
        for (name, value) in object.members() {
            if others.contains(&name) {
                continue;
            }
            let text = match value {
                Json::Null => continue,
                _ if name == MARKUP => return Err(unsupported_markup()),
                _ if INPUT_OPTIONS.contains(&name) => {
                    let message = "is not supported here; send input images to `/v1/images/edits`, as a form or in `images`";
                    return Err(Refusal::field(name, message));
                }
                Json::String(text) => text.clone(),
                _ if STRING_OPTIONS.contains(&name) => {
                    return Err(Refusal::field(name, "must be a string"));
                }
                Json::Number(text) => text.clone(),
                Json::Bool(value) => value.to_string(),
                Json::Array(_) | Json::Object(_) if KNOWN_OPTIONS.contains(&name) => {
                    return Err(Refusal::field(name, "must not be an array or object"));
                }
                Json::Array(_) | Json::Object(_) => continue,
            };
            options.set(name, text)?;
        }
        Ok(options)
    }

    /// # Errors
    /// The option is already set.
    pub fn set(&mut self, name: &str, text: String) -> Result<(), Refusal> {
        let Some(known) = KNOWN_OPTIONS.into_iter().find(|it| *it == name) else {
            return Ok(());
        };
        match self.0.insert(known, text) {
            None => Ok(()),
            Some(_) => Err(Refusal::field(known, "is given twice; send it once")),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(KNOWN_OPTIONS.contains(&name), "`{name}` is never set");
        self.0.get(name).map(String::as_str)
    }

    /// Refuses other values with the message `why`.
    fn only(&self, name: &str, allowed: &[&str], why: &str) -> Result<(), Refusal> {
        match self.get(name) {
            Some(value) if !allowed.contains(&value) => Err(Refusal {
                field: Some(name.to_owned()),
                ..Refusal::body(why)
            }),
            _ => Ok(()),
        }
    }

    /// Ignores options that only tune the generation (`moderation`, `user`, and what the SDKs add). Refuses unsupported options that
    /// would change the response.
    ///
    /// # Errors
    /// The model does not exist, the key may not use it, or an option is invalid.
    pub fn read(&self, caller: &Payer, settings: &Settings) -> Result<Options, Refusal> {
        let model = self.get("model").unwrap_or("fast");
        let tier = models::tier_of(&settings.config.tiers, model)
            .ok_or_else(|| models::unknown_to_openai(model))?;
        submission::check_scope(caller, tier, model)?;
        self.only(
            "response_format",
            &["b64_json", "url"],
            "response_format must be `b64_json` or `url`",
        )?;
        let output = self.output()?;
        let background = image_background::read(self.get("background"), output, tier, settings)?;
        let stream = self.stream()?;
        let (ratio, offer) = match self.get("size") {
            None | Some("auto") => (None, settings.catalog.default_offer(tier)),
            Some(text) => {
                let (ratio, offer) =
                    size::nearest(text, tier, &settings.catalog).ok_or_else(|| {
                        let message = format!(
                            "must be `auto` or a size such as `1024x1024`, with at most {} pixels on a side",
                            size::MAX_SIDE
                        );
                        Refusal::field("size", message)
                    })?;
                (Some(ratio), Some(offer))
            }
        };
        let no_offer = || {
            let message = format!("the {tier} model has no size with a price");
            Refusal::new(Kind::Unavailable, message)
        };
        Ok(Options {
            offer: offer.ok_or_else(no_offer)?,
            prompt: self.prompt(settings.config.jobs.max_prompt_chars)?,
            count: self.count()?,
            ratio,
            as_url: self.as_url(model, stream),
            output,
            background,
            stream,
            quality: self.quality(),
        })
    }

    fn output(&self) -> Result<Option<OutputFormat>, Refusal> {
        let compression = self.whole_number("output_compression", NO_COMPRESSION)?;
        let compression = compression.unwrap_or(NO_COMPRESSION);
        match self.get("output_format") {
            None | Some("png") if compression < NO_COMPRESSION => Err(Refusal {
                kind: Kind::PngCompression,
                ..Refusal::field(
                    "output_compression",
                    "must be 100 for PNG, which is lossless; set output_format to `jpeg` for a smaller file",
                )
            }),
            None => Ok(None),
            Some("png") => Ok(Some(OutputFormat::Png)),
            Some("jpeg") => Ok(Some(OutputFormat::Jpeg {
                quality: compression,
            })),
            // The encoder is lossless, so the compression has no effect.
            Some("webp") => Ok(Some(OutputFormat::WebP)),
            Some(_) => Err(Refusal::field(
                "output_format",
                "must be `png`, `jpeg` or `webp`",
            )),
        }
    }

    /// Checks `partial_images` too: streams contain no partial images, and OpenAI may send fewer than requested.
    fn stream(&self) -> Result<bool, Refusal> {
        self.only("stream", &["true", "false"], "stream must be true or false")?;
        self.whole_number("partial_images", MAX_PARTIAL_IMAGES)?;
        let stream = self.get("stream") == Some("true");
        if stream && self.count()? > 1 {
            let message = "must be 1 with `stream`; send one request for each image";
            return Err(Refusal::field("n", message));
        }
        if stream && self.get("response_format") == Some("url") {
            let message = "must be `b64_json` with `stream`, whose events contain no URL";
            return Err(Refusal::field("response_format", message));
        }
        Ok(stream)
    }

    /// Without a choice, models that are named like OpenAI's older ones respond as these do: programs that ask for them read the URL.
    fn as_url(&self, model: &str, stream: bool) -> bool {
        match self.get("response_format") {
            Some(format) => format == "url",
            None => model.starts_with(URL_MODELS) && !stream,
        }
    }

    fn quality(&self) -> Option<&'static str> {
        let quality = self.get("quality")?;
        QUALITIES.into_iter().find(|it| *it == quality)
    }

    fn whole_number(&self, name: &str, max: u8) -> Result<Option<u8>, Refusal> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| *number <= max);
        number.map(Some).ok_or_else(|| {
            let message = format!("must be a whole number from 0 to {max}");
            Refusal::field(name, message)
        })
    }

    fn prompt(&self, max_chars: usize) -> Result<String, Refusal> {
        let prompt = self
            .get("prompt")
            .ok_or_else(|| Refusal::missing("prompt", ""))?
            .replace('\0', "");
        match prompt.chars().count() {
            0 => Err(Refusal::field("prompt", "must not be empty")),
            count if count > max_chars => {
                let message = format!("has {count} characters; at most {max_chars} are allowed");
                Err(Refusal::field("prompt", message))
            }
            _ => Ok(prompt),
        }
    }

    fn count(&self) -> Result<usize, Refusal> {
        let Some(text) = self.get("n") else {
            return Ok(1);
        };
        let count = text.parse().ok();
        count
            .filter(|count| (1..=MAX_IMAGES).contains(count))
            .ok_or_else(|| {
                Refusal::field(
                    "n",
                    format!("must be a whole number from 1 to {MAX_IMAGES}"),
                )
            })
    }
}
