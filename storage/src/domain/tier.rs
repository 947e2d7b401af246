//! The three models, the two modes and the three image sizes.

use super::named_enum::named_enum;
use serde::{Deserialize, Serialize};

named_enum!(
    /// An image model on sale (specification, "Tiers").
    Tier {
        /// Always 1K.
        Fast = "fast",
        /// All ratios, up to 4K.
        Quality = "quality",
        /// All ratios, up to 4K; the most expensive.
        Pro = "pro",
    }
);

named_enum!(
    Mode {
        /// A prompt only.
        TextToImage = "text-to-image",
        /// A prompt and 1 to 14 input images.
        ImageToImage = "image-to-image",
    }
);

named_enum!(
    /// The size class of an image; the pixels depend on the aspect ratio too.
    Resolution {
        /// About one megapixel.
        K1 = "1K",
        /// Twice the sides of 1K.
        K2 = "2K",
        /// Four times the sides of 1K.
        K4 = "4K",
    }
);

impl Tier {
    /// From 0 to 2, to index per-tier tables.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl Resolution {
    /// The factor between the sides of the 1K image and of this one.
    pub fn factor(self) -> u32 {
        match self {
            Self::K1 => 1,
            Self::K2 => 2,
            Self::K4 => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tier_and_resolution_names_round_trip() {
        assert!(
            Tier::ALL
                .iter()
                .all(|tier| tier.as_str().parse::<Tier>().unwrap() == *tier)
        );
        assert!(
            Resolution::ALL
                .iter()
                .all(|it| it.as_str().parse::<Resolution>().unwrap() == *it)
        );
        for bad in ["", "1k", "1K ", "8K", "512"] {
            assert!(bad.parse::<Resolution>().is_err(), "{bad:?}");
        }
    }
}
