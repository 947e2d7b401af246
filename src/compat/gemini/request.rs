//! Parses the body of `generateContent`.

use super::content::{self, InputImage, Source};
use super::fields::Object;
use super::options::{self, Options};
use crate::application::settings::Settings;
use crate::application::submission::generation_request::{GenerationRequest, Input, Shape};
use crate::compat::body::ReceivedBody;
use crate::compat::refusal::Refusal;
use crate::compat::scanner::MAX_DEPTH;
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::tier::Tier;

/// A body whose images are not validated yet.
pub struct ParsedBody {
    pub prompt: String,
    /// The input images.
    pub images: Vec<InputImage>,
    pub options: Options,
}

/// # Errors
/// The text is not JSON, or a field is invalid.
pub fn parse(text: &str, tier: Tier, settings: &Settings) -> Result<ParsedBody, Refusal> {
    let json = Json::parse(text, MAX_DEPTH)?;
    let body = Object::of("", &json)?;
    let content = content::read(&body, settings.config.jobs.max_prompt_chars)?;
    Ok(ParsedBody {
        prompt: content.prompt,
        images: content.images,
        options: options::read(&body, tier, &settings.catalog)?,
    })
}

/// # Errors
/// The data of an input image is not a valid image.
pub fn generation_request(
    body: ParsedBody,
    mut received: ReceivedBody,
    idempotency_key: Option<String>,
) -> Result<GenerationRequest, Refusal> {
    let mut take = |image: InputImage| match image.source {
        Source::Url(url) => Ok(Input::Url {
            url,
            field: image.field,
        }),
        Source::Inline(number) => received.take(number, image.field),
    };
    let inputs: Vec<Input> = body
        .images
        .into_iter()
        .map(&mut take)
        .collect::<Result<_, _>>()?;
    let Options { offer, ratio, .. } = body.options;
    let shape = ratio.map_or(Shape::OfInputOrSquare, Shape::Fixed);
    Ok(GenerationRequest {
        idempotency_key,
        ..GenerationRequest::new(offer, shape, body.prompt, inputs, Origin::Synchronous)
    })
}
