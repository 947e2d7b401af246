//! Errors of the generator.

use tintype_imaging::MAX_SIDE;

/// Slightly more than the largest size of any tier.
pub const MAX_PIXELS: u64 = 24_000_000;

/// Why nothing was drawn.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The size is zero or too large.
    #[error(
        "the built-in generator draws from 1 to {MAX_SIDE} pixels a side and {MAX_PIXELS} pixels in all, not {width}x{height}; ask for a smaller size"
    )]
    Size { width: u32, height: u32 },
    /// An input is in an unsupported format.
    #[error(
        "input image {number} is {format}, which the built-in generator cannot decode; send PNG, JPEG, WebP or GIF"
    )]
    Format {
        /// Which input, counted from 1.
        number: usize,
        format: &'static str,
    },
    /// An input is damaged or not an image.
    #[error(
        "input image {number} cannot be read (it is damaged); check that the file is complete and send it again as PNG, JPEG, WebP or GIF"
    )]
    Broken {
        /// Which input, counted from 1.
        number: usize,
    },
    /// An input would need too much memory.
    #[error(
        "input image {number} is too large to decode: the built-in generator takes at most {MAX_SIDE} pixels a side and 256 MB unpacked; send a smaller image"
    )]
    TooLarge {
        /// Which input, counted from 1.
        number: usize,
    },
    #[error(
        "the mask has no alpha channel; send a PNG whose transparent pixels show where the image may change"
    )]
    Mask,
    #[error(
        "the finished image could not be encoded as PNG: {0}; try the request again with another size"
    )]
    Encode(#[from] png::EncodingError),
}
