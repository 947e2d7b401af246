//! Untrusted image files: recognizes and measures them by their headers, decodes them within limits, and converts them.
//!
//! A few bytes can decode to hundreds of megabytes. So the header is checked before decoding, decoding produces 8 bits per channel,
//! row by row if the format allows it, and requires one of a few [`DecodePermit`]s.

mod colour_profile;
pub mod decode_permits;
pub mod decoding;
mod description;
pub mod encoding;
mod exif_block;
pub mod fit;
pub mod image_header;
pub mod jpeg_segments;
mod kind;
pub mod metadata;
pub mod pixels;
mod shrink;
pub mod size;

pub use decode_permits::{DecodePermit, DecodePermits};
pub use decoding::{DecodeError, OpenedImage, open};
pub use description::describe;
pub use image_header::{HeaderFault, HeaderReader};
pub use kind::{ImageKind, SNIFFED_BYTES};
pub use pixels::{Pixels, Rect};
pub use size::{MAX_SIDE, Size, SizeFault};
