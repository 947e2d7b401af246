//! What only some requests ask for.

use super::output_format::OutputFormat;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageOptions {
    /// `None`: the file as the backend returns it.
    pub output: Option<OutputFormat>,
    /// The last input image is a mask. Where it is opaque, the image keeps the pixels of the first input image.
    pub has_mask: bool,
    /// `None`: as the backend returns it.
    pub background: Option<Background>,
}

/// The background that a caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Background {
    /// No part of the image is transparent.
    Opaque,
    Transparent,
}

/// Fingerprints contain this text, so it must never change.
impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opaque => "opaque",
            Self::Transparent => "transparent",
        })
    }
}

impl ImageOptions {
    /// For the record of a job: `None` if the request asks for nothing special.
    pub fn recorded(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}
