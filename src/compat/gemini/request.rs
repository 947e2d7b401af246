//! The body of `generateContent`, read.

use super::content::{self, Picture, Source};
use super::fields::Object;
use super::options::{self, Options};
use crate::application::generation_request::{GenerationRequest, Input, Shape};
use crate::application::state::AppState;
use crate::compat::body::{BodyPicture, Received};
use crate::compat::refusal::Refusal;
use crate::compat::scanner::MAX_DEPTH;
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::tier::Tier;

/// A body, before its pictures are looked at.
pub struct Read {
    /// What to show.
    pub prompt: String,
    /// What to begin with.
    pub pictures: Vec<Picture>,
    /// Shape and size.
    pub options: Options,
}

/// Reads the text of a body.
///
/// # Errors
/// It is no JSON, or a field is at fault.
pub fn read(text: &str, tier: Tier, state: &AppState) -> Result<Read, Refusal> {
    let json = Json::parse(text, MAX_DEPTH).map_err(|fault| {
        let place = fault.path.trim_start_matches('.');
        if place.is_empty() {
            Refusal::body(format!("the request body is not JSON: {}", fault.message))
        } else {
            Refusal::field(place, fault.message)
        }
    })?;
    let body = Object::of("", &json)?;
    let content = content::read(&body, state.config.jobs.max_prompt_chars)?;
    Ok(Read {
        prompt: content.prompt,
        pictures: content.pictures,
        options: options::read(&body, tier, &state.catalog)?,
    })
}

/// What is asked for, with the pictures of the body.
///
/// # Errors
/// A picture that is asked for is none.
pub fn asked(
    read: Read,
    received: Received,
    name: Option<String>,
) -> Result<GenerationRequest, Refusal> {
    let mut pictures: Vec<Option<BodyPicture>> = received.pictures.into_iter().map(Some).collect();
    let mut take = |picture: Picture| {
        let field = picture.field;
        match picture.source {
            Source::Url(url) => Ok(Input::Url { url, field }),
            Source::Inline(number) => match pictures.get_mut(number).and_then(Option::take) {
                Some(BodyPicture::Stored(held)) => Ok(Input::Stored(held)),
                Some(BodyPicture::Faulty(message)) => Err(Refusal::field(field, message)),
                Some(BodyPicture::Passed) | None => Err(Refusal::field(field, "must be base64")),
            },
        }
    };
    let inputs: Vec<Input> = read
        .pictures
        .into_iter()
        .map(&mut take)
        .collect::<Result<_, _>>()?;
    let ratio = read.options.ratio;
    Ok(GenerationRequest {
        offer: read.options.offer,
        shape: ratio.map_or(Shape::OfInputOrSquare, Shape::Fixed),
        prompt: read.prompt,
        inputs,
        callback_url: None,
        metadata: None,
        origin: Origin::Synchronous,
        pictures: 1,
        cancel_after: None,
        idempotency_key: name,
    })
}
