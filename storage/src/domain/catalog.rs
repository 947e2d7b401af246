//! The catalog: the configured ratios, resolutions and prices per tier.

use super::amount::Amount;
use super::aspect_ratio::AspectRatio;
use super::tier::{Resolution, Tier};

/// One tier as the operator configured it.
#[derive(Clone, Debug)]
pub struct TierOffer {
    /// In the order in which they are listed.
    pub aspect_ratios: Vec<AspectRatio>,
    /// Is `auto` allowed for image-to-image?
    pub auto: bool,
    /// At least one. A size without a price is not on sale.
    pub prices: Vec<(Resolution, Amount)>,
}

impl TierOffer {
    /// In the order in which they are listed.
    pub fn resolution_names(&self) -> impl Iterator<Item = &'static str> {
        self.prices
            .iter()
            .map(|(resolution, _)| resolution.as_str())
    }

    /// The offered ratio nearest to a width and height. See [`AspectRatio::nearest`].
    pub fn nearest_ratio(&self, (width, height): (u32, u32)) -> Option<AspectRatio> {
        AspectRatio::nearest(&self.aspect_ratios, width, height)
    }
}

/// A model, size and price on sale. Only a [`Catalog`] creates offers, so a size without a price cannot be requested.
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

    /// The price of one image.
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

    pub fn tier(&self, tier: Tier) -> &TierOffer {
        &self.tiers[tier.index()]
    }

    /// `None` if the tier does not sell the size.
    pub fn offer(&self, tier: Tier, resolution: Resolution) -> Option<Offer> {
        let mut prices = self.tier(tier).prices.iter();
        let (_, price) = prices.find(|(it, _)| *it == resolution)?;
        Some(Offer {
            tier,
            resolution,
            price: *price,
        })
    }

    /// The offer if the caller names no size: 1K, or else the first size on sale.
    pub fn default_offer(&self, tier: Tier) -> Option<Offer> {
        let first = self.tier(tier).prices.first();
        self.offer(tier, Resolution::K1)
            .or_else(|| self.offer(tier, first?.0))
    }
}
