//! What a mask must be: a PNG with an alpha channel, of the size of the first image. Faults are sentences without their subject.

use super::InputImage;
use tintype_imaging::ImageKind;

/// # Errors
/// The fault of the format.
pub fn check_format(kind: ImageKind, has_alpha: bool) -> Result<(), String> {
    if kind != ImageKind::Png {
        return Err(format!("must be PNG, not {}", kind.name()));
    }
    match has_alpha {
        true => Ok(()),
        false => Err("must have an alpha channel".into()),
    }
}

/// # Errors
/// The fault of the size.
pub fn check_size(mask: &InputImage, first: &InputImage) -> Result<(), String> {
    if (mask.width, mask.height) == (first.width, first.height) {
        return Ok(());
    }
    Err(format!(
        "must have the size of the first image, {}x{}, not {}x{}",
        first.width, first.height, mask.width, mask.height
    ))
}
