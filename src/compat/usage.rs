//! Figures of tokens, for clients that add them up. Nobody is charged by them here: a picture has a fixed price.

use tintype_storage::domain::job::ResultImage;
use tintype_storage::domain::tier::{Resolution, Tier};

/// Tokens of one input image, as Google counts one tile.
const PER_INPUT: u64 = 258;
/// Characters of one token: Google's own rule of thumb.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// What goes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Of the words.
    pub text: u64,
    /// Of the input images.
    pub images: u64,
}

impl Prompt {
    /// An estimate.
    pub fn of(prompt: &str, inputs: usize) -> Self {
        Self {
            text: (prompt.chars().count() as u64).div_ceil(CHARACTERS_PER_TOKEN),
            images: inputs as u64 * PER_INPUT,
        }
    }

    /// Both.
    pub fn total(self) -> u64 {
        self.text + self.images
    }
}

/// Tokens of a picture, as published for the tiers' models.
pub fn of_picture(tier: Tier, resolution: Resolution) -> u64 {
    match (tier, resolution) {
        (Tier::Fast, _) => 1_290,
        (_, Resolution::K1 | Resolution::K2) => 1_120,
        (_, Resolution::K4) => 2_000,
    }
}

/// Its sides as text.
pub fn size(image: &ResultImage) -> String {
    format!("{}x{}", image.width, image.height)
}
