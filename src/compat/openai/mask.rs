//! `mask` of an edit: a PNG that is transparent where the first input image may change.

use super::backend_support::is_supported;
use crate::application::settings::Settings;
use crate::application::submission::generation_request::Input;
use crate::backends::kinds;
use crate::compat::refusal::Refusal;
use crate::inputs::StoredUpload;
use tintype_imaging::ImageKind;
use tintype_storage::domain::tier::Tier;

/// # Errors
/// The mask does not fit the image, or no backend of the model uses masks.
pub fn check(
    mask: &StoredUpload,
    first: Option<&Input>,
    tier: Tier,
    settings: &Settings,
) -> Result<(), Refusal> {
    let refused = |message: String| Err(Refusal::field("mask", message));
    if !is_supported(tier, settings, kinds::takes_mask) {
        return refused(format!(
            "is not supported by the {tier} model, none of whose backends takes a mask; describe the change in the prompt"
        ));
    }
    if mask.kind() != ImageKind::Png {
        return refused(format!("must be PNG, not {}", mask.kind().name()));
    }
    if !mask.has_alpha() {
        return refused("must have an alpha channel".into());
    }
    let mask = mask.image();
    let Some(Input::Stored(image)) = first else {
        return refused("needs an image".into());
    };
    let image = image.image();
    if (mask.width, mask.height) != (image.width, image.height) {
        return refused(format!(
            "must have the size of the first image, {}x{}, not {}x{}",
            image.width, image.height, mask.width, mask.height
        ));
    }
    Ok(())
}
