//! How large an image is when it is shown: its stored size, turned as its Exif orientation says, within bounds.

use exif::{In, Tag};

use super::image_header::HeaderFault;

/// Longest side that is decoded: the longest of the published sizes has 12,288.
pub const MAX_SIDE: u32 = 16_384;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Why a size is not taken. The texts complete a sentence that begins with the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// A side of 0.
    #[error("has no pixels: its header says {width} x {height}")]
    Empty {
        /// As the header says.
        width: u32,
        /// As the header says.
        height: u32,
    },
    /// Over [`MAX_SIDE`] or the most pixels that are allowed.
    #[error(
        "is too large: {width} x {height} pixels, where a side may have {MAX_SIDE} and the whole {max_pixels}"
    )]
    TooLarge {
        /// As the header says.
        width: u32,
        /// As the header says.
        height: u32,
        /// What is allowed.
        max_pixels: u64,
    },
}

impl Size {
    /// Passes sizes within [`MAX_SIDE`] and `max_pixels`.
    ///
    /// # Errors
    /// See [`SizeFault`].
    pub fn check(self, max_pixels: u64) -> Result<Self, SizeFault> {
        let Self { width, height } = self;
        if width == 0 || height == 0 {
            return Err(SizeFault::Empty { width, height });
        }
        if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > max_pixels {
            return Err(SizeFault::TooLarge {
                width,
                height,
                max_pixels,
            });
        }
        Ok(self)
    }
}

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
