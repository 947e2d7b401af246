//! What is on sale: per tier the ratios, resolutions and prices of the configuration.

use super::amount::Amount;
use super::aspect_ratio::AspectRatio;
use super::tier::{Resolution, Tier};

/// One tier as the operator configured it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Shapes that may be asked for, in the order in which they are listed.
    pub aspect_ratios: Vec<AspectRatio>,
    /// May `auto` be asked for, on image-to-image?
    pub auto: bool,
    /// Sizes with their prices, at least one. A size that is not here is not on sale.
    pub prices: Vec<(Resolution, Amount)>,
}

impl Offer {
    /// The words of the sizes on sale, in the order in which they are listed.
    pub fn resolution_words(&self) -> impl Iterator<Item = &'static str> {
        self.prices.iter().map(|(resolution, _)| resolution.word())
    }
}

/// All tiers.
#[derive(Clone, Debug)]
pub struct Catalog {
    offers: [Offer; 3],
}

impl Catalog {
    /// One offer per tier, in the order of [`Tier::ALL`].
    pub fn new(offers: [Offer; 3]) -> Self {
        Self { offers }
    }

    /// The offer of a tier.
    pub fn offer(&self, tier: Tier) -> &Offer {
        &self.offers[tier.index()]
    }

    /// The price of a picture; `None` when the tier does not sell that size.
    pub fn price(&self, tier: Tier, resolution: Resolution) -> Option<Amount> {
        self.offer(tier)
            .prices
            .iter()
            .find(|(it, _)| *it == resolution)
            .map(|(_, price)| *price)
    }
}
