//! What only some requests ask for.

use super::output_format::OutputFormat;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageOptions {
    /// `None`: the file as the backend returns it.
    pub output: Option<OutputFormat>,
    /// The last input image is a mask. Where it is opaque, the image keeps the pixels of the first input image.
    pub has_mask: bool,
}

impl ImageOptions {
    /// For the record of a job: `None` if the request asks for nothing special.
    pub fn recorded(self) -> Option<Self> {
        (self != Self::default()).then_some(self)
    }
}
