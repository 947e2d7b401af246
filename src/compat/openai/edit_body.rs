//! An edit that is sent as JSON: `images` and `mask` refer to the input images.

use super::mask;
use super::multipart::Form;
use super::options::{RawOptions, members_of};
use crate::api::generation::url_fault;
use crate::application::submission::generation_request::Input;
use crate::compat::body::{self, ImageHandling, ReceivedBody};
use crate::compat::refusal::Refusal;
use crate::compat::scanner::{DATA_SCHEME, ImageFields};
use crate::compat::state::CompatState;
use actix_web::{HttpRequest, web};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::json::Json;
use tintype_storage::domain::request::MAX_INPUTS;
use tokio::time::Instant;

const IMAGES: &str = "images";
const EXAMPLE: &str = r#"`{"image_url": "https://..."}`"#;

/// The input images of an edit, and its mask.
pub type EditImages = (Vec<Input>, Option<Input>);

/// # Errors
/// The body is too large, too slow or malformed; an option or an image is invalid; there is no memory for it in time; or the object
/// store fails.
pub async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    state: &CompatState,
    account: AccountId,
    deadline: Instant,
) -> Result<Form, Refusal> {
    let handling = ImageHandling::Store(ImageFields::DataUrl);
    let mut body = body::receive(request, payload, state, account, handling, deadline).await?;
    let mut members = members_of(&body.text)?;
    let (images, mask) = take_images(&mut members, Some(&mut body))?;
    Ok(Form {
        options: RawOptions::of_members(members)?,
        images,
        mask,
    })
}

/// Removes the images from the members of a body. Without the `body` that has their data, data URLs are refused.
///
/// # Errors
/// There is no image or there are too many, or a reference to an image or its data is invalid.
pub fn take_images(
    members: &mut Vec<(String, Json)>,
    mut body: Option<&mut ReceivedBody>,
) -> Result<EditImages, Refusal> {
    let mut take = |name: &str| {
        let at = members.iter().position(|(it, _)| it == name)?;
        Some(members.swap_remove(at).1).filter(|it| *it != Json::Null)
    };
    let (images, mask) = (take(IMAGES), take(mask::FIELD));
    let images = match images {
        Some(Json::Array(images)) if images.len() > MAX_INPUTS => {
            let count = images.len();
            let message = format!("has {count} images; at most {MAX_INPUTS} are allowed");
            return Err(Refusal::field(IMAGES, message));
        }
        Some(Json::Array(images)) if !images.is_empty() => images,
        Some(Json::Array(_)) | None => {
            let advice = format!("send at least one {EXAMPLE}");
            return Err(Refusal::missing(IMAGES, &advice));
        }
        Some(_) => return Err(Refusal::field(IMAGES, "must be an array")),
    };
    let mut read = |path: &str, value: Json| resolve(image_url(path, value)?, body.as_deref_mut());
    let images = images.into_iter().enumerate();
    let images = images.map(|(at, image)| read(&format!("{IMAGES}[{at}]"), image));
    let images = images.collect::<Result<_, _>>()?;
    let mask = mask.map(|mask| read(mask::FIELD, mask)).transpose()?;
    Ok((images, mask))
}

/// The path of the URL in a reference to an image, and the URL.
///
/// # Errors
/// There is no URL, or another kind of reference.
pub fn image_url(path: &str, reference: Json) -> Result<(String, String), Refusal> {
    let Json::Object(members) = reference else {
        let message = format!("must be an object such as {EXAMPLE}");
        return Err(Refusal::field(path, message));
    };
    let field = format!("{path}.image_url");
    let mut url = None;
    for (name, value) in members {
        match (name.as_str(), value) {
            (_, Json::Null) => {}
            ("image_url", Json::String(text)) => url = Some(text),
            ("image_url", _) => return Err(Refusal::field(field, "must be a string")),
            ("file_id", _) => {
                let message =
                    "is not supported; send `image_url` with the URL or the data URL of the image";
                return Err(Refusal::field(format!("{path}.file_id"), message));
            }
            _ => {}
        }
    }
    match url {
        Some(url) => Ok((field, url)),
        None => Err(Refusal::missing(field, "")),
    }
}

/// In the text of a [`ReceivedBody`], [`DATA_SCHEME`] and the number of an image replace its URL.
///
/// # Errors
/// The URL or the data is invalid.
pub fn resolve(
    (field, url): (String, String),
    body: Option<&mut ReceivedBody>,
) -> Result<Input, Refusal> {
    if let Some(data) = url.strip_prefix(DATA_SCHEME) {
        return match (body, data.parse()) {
            (Some(body), Ok(number)) => body.take(number, field),
            _ => {
                let message = "must be an http:// or https:// URL; a batch takes no data URLs";
                Err(Refusal::field(field, message))
            }
        };
    }
    match url_fault(&url) {
        Some(message) => Err(Refusal::field(field, message)),
        None => Ok(Input::Url { url, field }),
    }
}
