//! How large an image is when it is shown: its stored size, turned as its Exif orientation says.

use super::HeaderFault;
use crate::size::Size;
use exif::{In, Tag};

/// Measures a skeleton that an outline has kept.
///
/// # Errors
/// The skeleton does not hold what its format demands.
pub(super) fn measure(skeleton: &[u8], exif: Option<Vec<u8>>) -> Result<Size, HeaderFault> {
    let stored = imagesize::blob_size(skeleton).map_err(|_| HeaderFault::Damaged)?;
    // Sides past 32 bits do not exist in any of the formats; saturated, they are refused as too large.
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let (width, height) = (side(stored.width), side(stored.height));
    Ok(if exif.is_some_and(lies_on_its_side) {
        Size {
            width: height,
            height: width,
        }
    } else {
        Size { width, height }
    })
}

/// Orientations 5 to 8 show rows as columns (TIFF 6.0, Exif 3.0 section 4.6.5). A block that cannot be read turns nothing:
/// that is how every viewer treats it.
fn lies_on_its_side(exif: Vec<u8>) -> bool {
    let mut reader = exif::Reader::new();
    reader.continue_on_error(true);
    let read = reader
        .read_raw(exif)
        .or_else(|error| error.distill_partial_result(|_| {}));
    let orientation = read.ok().and_then(|exif| {
        exif.get_field(Tag::Orientation, In::PRIMARY)?
            .value
            .get_uint(0)
    });
    matches!(orientation, Some(5..=8))
}
