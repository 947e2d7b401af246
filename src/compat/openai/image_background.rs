//! `background` of requests and responses: whether an image is transparent.

use crate::application::settings::Settings;
use crate::backends::kinds;
use crate::backends::tier_use::uses_of;
use crate::compat::refusal::Refusal;
use crate::objects::media_type;
use tintype_storage::domain::image_options::Background;
use tintype_storage::domain::job::ResultImage;
use tintype_storage::domain::output_format::OutputFormat;
use tintype_storage::domain::tier::Tier;

/// `None`: the backend's choice.
///
/// # Errors
/// The value is unknown, or neither the file format nor a backend of the model has transparent backgrounds.
pub fn read(
    text: Option<&str>,
    output: Option<OutputFormat>,
    tier: Tier,
    settings: &Settings,
) -> Result<Option<Background>, Refusal> {
    let refused = |message: String| Err(Refusal::field("background", message));
    let is_supported = || {
        let mut uses = uses_of(&settings.config, tier);
        uses.any(|it| kinds::takes_transparent(it.backend, it.model.as_deref()))
    };
    match text {
        None | Some("auto") => Ok(None),
        Some("opaque") => Ok(Some(Background::Opaque)),
        Some("transparent") if matches!(output, Some(OutputFormat::Jpeg { .. })) => refused(
            "must be `auto` or `opaque` for JPEG; set output_format to `png` or `webp`".into(),
        ),
        Some("transparent") if !is_supported() => refused(format!(
            "must be `auto` or `opaque` for the {tier} model, none of whose backends generates transparent backgrounds"
        )),
        Some("transparent") => Ok(Some(Background::Transparent)),
        Some(_) => refused("must be `auto`, `opaque` or `transparent`".into()),
    }
}

/// The background of a stored image; `None` if only its file says so. `has_alpha` is what the file says.
pub fn of_image(
    image: &ResultImage,
    requested: Option<Background>,
    has_alpha: Option<bool>,
) -> Option<&'static str> {
    let is_opaque = requested == Some(Background::Opaque) || media_type(&image.key) == "image/jpeg";
    match has_alpha {
        Some(true) => Some("transparent"),
        Some(false) => Some("opaque"),
        None => is_opaque.then_some("opaque"),
    }
}
