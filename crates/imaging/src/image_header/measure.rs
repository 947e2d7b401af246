//! The displayed size of an image: its stored size, with the Exif orientation applied.

use super::HeaderFault;
use crate::size::Size;
use exif::{In, Tag};

/// Measures the skeleton that a walker has kept.
///
/// # Errors
/// The skeleton is not valid in its format.
pub(super) fn measure(skeleton: &[u8], exif: Option<Vec<u8>>) -> Result<Size, HeaderFault> {
    let stored = imagesize::blob_size(skeleton).map_err(|_| HeaderFault::Damaged)?;
    // No format has sides above 32 bits. A saturated side is refused as too large.
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let (width, height) = (side(stored.width), side(stored.height));
    Ok(if exif.is_some_and(swaps_sides) {
        Size {
            width: height,
            height: width,
        }
    } else {
        Size { width, height }
    })
}

/// Orientations 5 to 8 display rows as columns (TIFF 6.0, Exif 3.0 section 4.6.5). Like every viewer, ignores a block that cannot be
/// read.
fn swaps_sides(exif: Vec<u8>) -> bool {
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
