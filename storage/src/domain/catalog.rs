//! What is on sale: per tier the ratios, resolutions and prices of the configuration.

use super::amount::Amount;
use super::aspect_ratio::AspectRatio;
use super::tier::{Resolution, Tier};

/// One tier as the operator configured it.
#[derive(Clone, Debug)]
pub struct TierOffer {
    /// Shapes that may be asked for, in the order in which they are listed.
    pub aspect_ratios: Vec<AspectRatio>,
    /// May `auto` be asked for, on image-to-image?
    pub auto: bool,
    /// Sizes with their prices, at least one. A size that is not here is not on sale.
    pub prices: Vec<(Resolution, Amount)>,
}

impl TierOffer {
    /// The words of the sizes on sale, in the order in which they are listed.
    pub fn resolution_words(&self) -> impl Iterator<Item = &'static str> {
        self.prices.iter().map(|(resolution, _)| resolution.word())
    }
}

/// A model and size that are on sale, with their price. Only a [`Catalog`] makes one: what is not on sale has no price, and cannot
/// be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    tier: Tier,
    resolution: Resolution,
    price: Amount,
}

impl Offer {
    pub fn tier(&self) -> Tier {
        self.tier
    }

    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// What a picture of it costs.
    pub fn price(&self) -> Amount {
        self.price
    }
}

#[derive(Clone, Debug)]
pub struct Catalog {
    tiers: [TierOffer; 3],
}

impl Catalog {
    /// One offer per tier, in the order of [`Tier::ALL`].
    pub fn new(tiers: [TierOffer; 3]) -> Self {
        Self { tiers }
    }

    /// What a tier sells.
    pub fn tier(&self, tier: Tier) -> &TierOffer {
        &self.tiers[tier.index()]
    }

    /// A size of a tier; `None` when the tier does not sell it.
    pub fn offer(&self, tier: Tier, resolution: Resolution) -> Option<Offer> {
        let prices = self.tier(tier).prices.iter();
        let mut found = prices.filter(|(it, _)| *it == resolution);
        found.next().map(|(_, price)| Offer {
            tier,
            resolution,
            price: *price,
        })
    }

    /// What a tier sells to callers who leave the size open: 1K, or else the first size on sale.
    pub fn default_offer(&self, tier: Tier) -> Option<Offer> {
        let first = self.tier(tier).prices.first();
        self.offer(tier, Resolution::K1)
            .or_else(|| self.offer(tier, first?.0))
    }
}
