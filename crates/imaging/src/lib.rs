//! Image files from strangers: recognised and measured by their headers, decoded within bounds, and made to fit.
//!
//! A few bytes can unpack into hundreds of megabytes. So a header is judged before anything is decoded, decoding goes to 8 bits
//! and row by row where the format allows it, and it needs a [`DecodePermit`], of which there are few.

pub mod decode_permits;
pub mod decoding;
pub mod encoding;
pub mod fit;
pub mod image_header;
pub mod jpeg_end;
mod kind;
pub mod metadata;
pub mod pixels;
mod shrink;
pub mod size;

pub use decode_permits::{DecodePermit, DecodePermits};
pub use decoding::{DecodeError, Opened, open};
pub use image_header::{HeaderFault, HeaderReader};
pub use kind::{ImageKind, SNIFFED_BYTES};
pub use pixels::{Pixels, Rect};
pub use size::{MAX_SIDE, Size, SizeFault};
