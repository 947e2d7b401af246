//! The file format of an image.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The file format that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputFormat {
    Png,
    Jpeg {
        /// From 0 to 100, which is the best.
        quality: u8,
    },
    WebP,
}

/// Fingerprints contain this text, so it must never change.
impl fmt::Display for OutputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Png => f.write_str("png"),
            Self::Jpeg { quality } => write!(f, "jpeg {quality}"),
            Self::WebP => f.write_str("webp"),
        }
    }
}
