//! The options of both calls, whether they came as JSON or as form fields.

use super::size;
use crate::application::generation_request::{GenerationRequest, Input, Shape};
use crate::application::payer::Payer;
use crate::application::state::AppState;
use crate::compat::models;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::submission;
use std::collections::BTreeMap;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::Offer;
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::json::Json;

/// Pictures of one call.
const MOST: usize = 10;
/// The options that are read. Others are ignored.
const READ: [&str; 9] = [
    "model",
    "prompt",
    "n",
    "size",
    "response_format",
    "output_format",
    "background",
    "stream",
    "partial_images",
];
/// Those that must be strings.
const WORDS: [&str; 2] = ["model", "prompt"];

/// Options by their names, as text.
#[derive(Default)]
pub struct RawOptions(BTreeMap<&'static str, String>);

/// The options of a call.
#[derive(Debug)]
pub struct Options {
    /// The model and size, with their price.
    pub offer: Offer,
    /// What to show.
    pub prompt: String,
    /// How many pictures.
    pub count: usize,
    /// The shape; `None` where it follows the first input image.
    pub ratio: Option<AspectRatio>,
    /// Answer with a URL instead of the picture itself.
    pub as_url: bool,
}

impl Options {
    /// The request for one of the pictures.
    pub fn request(&self, inputs: Vec<Input>, name: Option<String>) -> GenerationRequest {
        GenerationRequest {
            offer: self.offer,
            shape: self.ratio.map_or(Shape::OfInputOrSquare, Shape::Fixed),
            prompt: self.prompt.clone(),
            inputs,
            callback_url: None,
            metadata: None,
            origin: Origin::Synchronous,
            pictures: self.count,
            cancel_after: None,
            idempotency_key: name,
        }
    }
}

impl RawOptions {
    /// Of a JSON body.
    ///
    /// # Errors
    /// The body is no object, or an option that is read has a value that it cannot have.
    pub fn of_json(body: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Refusal::body("the request body is not JSON: it is not UTF-8"))?;
        let json = Json::parse(text, crate::compat::scanner::MAX_DEPTH)
            .map_err(|fault| Refusal::body(format!("the request body is not JSON: {fault}")))?;
        let Json::Object(members) = json else {
            return Err(Refusal::body("the request body must be a JSON object"));
        };
        Self::of_members(members)
    }

    /// Of the members of a JSON object. `null` is as good as left out.
    ///
    /// # Errors
    /// An option that is read has a value that it cannot have.
    pub fn of_members(members: Vec<(String, Json)>) -> Result<Self, Refusal> {
        let mut options = Self::default();
        for (name, value) in members {
            let is_word = WORDS.contains(&name.as_str());
            match value {
                Json::Null => {}
                Json::String(text) => options.set(&name, text)?,
                _ if is_word => return Err(Refusal::field(name, "must be a string")),
                Json::Number(text) => options.set(&name, text)?,
                Json::Bool(value) => options.set(&name, value.to_string())?,
                Json::Array(_) | Json::Object(_) if READ.contains(&name.as_str()) => {
                    return Err(Refusal::field(name, "must not be an array or object"));
                }
                Json::Array(_) | Json::Object(_) => {}
            }
        }
        Ok(options)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// It was set before.
    pub fn set(&mut self, name: &str, text: String) -> Result<(), Refusal> {
        let Some(known) = READ.into_iter().find(|it| *it == name) else {
            return Ok(());
        };
        match self.0.insert(known, text) {
            None => Ok(()),
            Some(_) => Err(Refusal::field(known, "stands twice; send it once")),
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// An option that may only have one of these values.
    fn only(&self, name: &str, allowed: &[&str], why: &str) -> Result<(), Refusal> {
        match self.get(name) {
            Some(value) if !allowed.contains(&value) => Err(Refusal {
                field: Some(name.to_owned()),
                ..Refusal::body(why)
            }),
            _ => Ok(()),
        }
    }

    /// Reads the options, for this key.
    ///
    /// Options that only tune how a picture is made (`quality`, `moderation`, `user`, and what the SDKs merge in) are
    /// accepted and ignored; those that would change the answer, and are not supported, are refused.
    ///
    /// # Errors
    /// The model is not there or not open to the key, or an option is at fault.
    pub fn read(&self, caller: &Payer, state: &AppState) -> Result<Options, Refusal> {
        let model = self.get("model").unwrap_or("fast");
        let tier = models::tier_of(&state.config.tiers, model).ok_or_else(|| {
            let message =
                format!("The model `{model}` does not exist; GET /v1/models lists those that do");
            Refusal {
                field: Some("model".into()),
                ..Refusal::new(Kind::UnknownModel, message)
            }
        })?;
        submission::check_scope(caller, tier, model)?;
        self.only(
            "stream",
            &["false"],
            "stream is not supported; leave it out",
        )?;
        self.only(
            "partial_images",
            &["0"],
            "partial_images is not supported; leave it out",
        )?;
        self.only(
            "background",
            &["auto", "opaque"],
            "background may be `auto` or `opaque`; transparent pictures cannot be made",
        )?;
        self.only(
            "output_format",
            &["png"],
            "output_format may be `png` alone; other formats are not made",
        )?;
        self.only(
            "response_format",
            &["b64_json", "url"],
            "response_format must be `b64_json` or `url`",
        )?;
        let (ratio, offer) = match self.get("size") {
            None | Some("auto") => (None, state.catalog.default_offer(tier)),
            Some(text) => {
                let (ratio, offer) =
                    size::nearest(text, tier, &state.catalog).ok_or_else(|| {
                        Refusal::field("size", "must be `auto` or such as `1024x1024`")
                    })?;
                (Some(ratio), Some(offer))
            }
        };
        let nothing = || Refusal::new(Kind::Unavailable, format!("the {tier} model sells no size"));
        Ok(Options {
            offer: offer.ok_or_else(nothing)?,
            prompt: self.prompt(state.config.jobs.max_prompt_chars)?,
            count: self.count()?,
            ratio,
            as_url: self.get("response_format") == Some("url"),
        })
    }

    fn prompt(&self, max_chars: usize) -> Result<String, Refusal> {
        let prompt = self
            .get("prompt")
            .ok_or_else(|| Refusal::field("prompt", "is required"))?
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
            .filter(|count| (1..=MOST).contains(count))
            .ok_or_else(|| Refusal::field("n", format!("must be 1 to {MOST}")))
    }
}
