//! An edit that is sent as JSON: `images` and `mask` refer to the input images.

use super::mask;
use super::multipart::Form;
use super::options::RawOptions;
use crate::application::submission::generation_request::Input;
use crate::compat::conversation::{InputImage, NO_DATA_URL};
use crate::compat::refusal::Refusal;
use crate::compat::request_body::body::{self, ImageHandling, ReceivedBody};
use crate::compat::request_body::fields::{Field, Object};
use crate::compat::request_body::scanner::{DATA_SCHEME, ImageFields, MAX_DEPTH};
use crate::compat::state::CompatState;
use actix_web::{HttpRequest, web};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::request::MAX_INPUTS;
use tintype_storage::json::Json;
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
    let json = Json::parse(&body.text, MAX_DEPTH)?;
    let object = Object::of("", &json)?;
    let (images, mask) = read_images(&object, Some(&mut body))?;
    Ok(Form {
        options: json_options(&object)?,
        images,
        mask,
    })
}

/// The options beside the images.
///
/// # Errors
/// The type of a known option is invalid.
pub fn json_options(body: &Object<'_>) -> Result<RawOptions, Refusal> {
    RawOptions::of_object(body, &[IMAGES, mask::FIELD])
}

/// The images of a body. Without the `received` body that has their data, data URLs are refused.
///
/// # Errors
/// There is no image or there are too many, or a reference to an image or its data is invalid.
pub fn read_images(
    body: &Object<'_>,
    mut received: Option<&mut ReceivedBody>,
) -> Result<EditImages, Refusal> {
    let missing = || Refusal::missing(IMAGES, &format!("send at least one {EXAMPLE}"));
    let images = body.get(IMAGES)?.ok_or_else(missing)?;
    let Json::Array(items) = images.value else {
        return Err(Refusal::field(IMAGES, "must be an array"));
    };
    match items.len() {
        0 => return Err(missing()),
        1..=MAX_INPUTS => {}
        count => {
            let message = format!("has {count} images; at most {MAX_INPUTS} are allowed");
            return Err(Refusal::field(IMAGES, message));
        }
    }
    let mut read = |reference| image_url(&reference)?.into_input(received.as_deref_mut());
    let images = images.entries().map(&mut read).collect::<Result<_, _>>()?;
    let mask = body.get(mask::FIELD)?.map(read).transpose()?;
    Ok((images, mask))
}

/// The image of a reference such as [`EXAMPLE`].
///
/// # Errors
/// There is no URL, or another kind of reference.
pub fn image_url(reference: &Field<'_>) -> Result<InputImage, Refusal> {
    let Json::Object(_) = reference.value else {
        let message = format!("must be an object such as {EXAMPLE}");
        return Err(Refusal::field(&reference.path, message));
    };
    let members = reference.object()?;
    let message = "is not supported; send `image_url` with the URL or the data URL of the image";
    members.refuse(&[("file_id", message)])?;
    let (field, url) = members.required("image_url")?;
    Ok(image_at(field, url))
}

/// An image at a URL. The scanner has replaced a data URL with [`DATA_SCHEME`] and the number of the image, except in a batch.
pub fn image_at(field: String, url: &str) -> InputImage {
    match url.strip_prefix(DATA_SCHEME) {
        Some(number) => InputImage::inline(field, number, NO_DATA_URL),
        None => InputImage::at_url(field, url),
    }
}
