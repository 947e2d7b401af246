//! `mask` of an edit: a PNG that is transparent where the first input image may change.

use crate::application::settings::Settings;
use crate::application::submission::generation_request::Input;
use crate::backends::kinds;
use crate::backends::tier_use::uses_of;
use crate::compat::refusal::Refusal;
use crate::inputs::mask;
use tintype_storage::domain::tier::Tier;

/// The name of the option.
pub const FIELD: &str = "mask";

/// Checks a mask as far as it is known before URLs are fetched.
///
/// # Errors
/// The mask does not fit the image, or no backend of the model uses masks.
pub fn check(
    given: &Input,
    first: Option<&Input>,
    tier: Tier,
    settings: &Settings,
) -> Result<(), Refusal> {
    let mut uses = uses_of(&settings.config, tier);
    if !uses.any(|it| kinds::takes_mask(it.backend, it.model.as_deref())) {
        let message = format!(
            "is not supported by the {tier} model, none of whose backends takes a mask; describe the change in the prompt"
        );
        return Err(Refusal::field(FIELD, message));
    }
    let Input::Stored(stored) = given else {
        return Ok(());
    };
    let format = mask::check_format(stored.kind(), stored.has_alpha());
    let fits = format.and_then(|()| match first {
        Some(Input::Stored(image)) => mask::check_size(stored.image(), image.image()),
        Some(Input::Url { .. } | Input::Earlier { .. }) | None => Ok(()),
    });
    fits.map_err(|message| Refusal::field(FIELD, message))
}
