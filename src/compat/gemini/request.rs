//! Parses the body of `generateContent`.

use super::content;
use super::options::{self, Options};
use crate::application::settings::Settings;
use crate::application::submission::generation_request::{GenerationRequest, Shape};
use crate::compat::conversation::InputImage;
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::request_body::body::ReceivedBody;
use crate::compat::request_body::fields::Object;
use crate::compat::request_body::scanner::MAX_DEPTH;
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::tier::Tier;
use tintype_storage::json::Json;

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

/// The request of a call whose caller waits for the image.
///
/// # Errors
/// The data of an input image is not a valid image.
pub fn generation_request(
    body: ParsedBody,
    mut received: ReceivedBody,
    idempotency_key: Option<String>,
) -> Result<GenerationRequest, Refusal> {
    let images = body.images.into_iter();
    let inputs = images.map(|it| it.into_input(Some(&mut received)));
    let inputs = inputs.collect::<Result<_, _>>()?;
    let Options {
        offer,
        ratio,
        output,
        ..
    } = body.options;
    let shape = ratio.map_or(Shape::OfInputOrSquare, Shape::Fixed);
    let mut request =
        GenerationRequest::new(offer, shape, body.prompt, inputs, Origin::Synchronous);
    request.idempotency_key = idempotency_key;
    request.options.output = output;
    Ok(request)
}

/// The same message for an unknown id, an invalid id, and the interaction of another account.
pub fn no_interaction(id: &str) -> Refusal {
    let id: String = id.chars().filter(|it| !it.is_control()).take(80).collect();
    let message = format!("there is no interaction with the id {id}");
    Refusal::new(Kind::NoSuchObject, message)
}
