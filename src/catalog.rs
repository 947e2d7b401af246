//! The catalog of tiers, resolutions and prices, from the configuration.

use crate::config::{TierConfig, Tiers};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::{Catalog, TierOffer};
use tintype_storage::domain::tier::{Resolution, Tier};

/// Builds the catalog. The configuration has validated every value.
pub fn catalog(tiers: &Tiers) -> Catalog {
    Catalog::new([offer(&tiers.fast), offer(&tiers.quality), offer(&tiers.pro)])
}

pub fn tier_config(tiers: &Tiers, tier: Tier) -> &TierConfig {
    match tier {
        Tier::Fast => &tiers.fast,
        Tier::Quality => &tiers.quality,
        Tier::Pro => &tiers.pro,
    }
}

fn offer(tier: &TierConfig) -> TierOffer {
    let aspect_ratios: Vec<AspectRatio> = tier
        .aspect_ratios
        .iter()
        .filter_map(|word| word.parse().ok())
        .collect();
    let price = |word: &String| {
        let resolution: Resolution = word.parse().ok()?;
        Some((resolution, Amount::new(*tier.prices.get(word)?).ok()?))
    };
    TierOffer {
        auto: tier.aspect_ratios.iter().any(|word| word == "auto"),
        aspect_ratios,
        prices: tier.resolutions.iter().filter_map(price).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};

    #[test]
    fn the_default_prices_are_the_published_ones() {
        let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
        let mut table = String::new();
        for tier in Tier::ALL {
            for resolution in Resolution::ALL {
                let price = catalog
                    .offer(tier, resolution)
                    .map_or("-".into(), |offer| offer.price().to_string());
                table.push_str(&format!("{tier} {resolution} {price}\n"));
            }
            let offer = catalog.tier(tier);
            table.push_str(&format!(
                "{tier} ratios {} auto {}\n",
                offer.aspect_ratios.len(),
                offer.auto
            ));
        }
        insta::assert_snapshot!(table, @r"
        fast 1K 0.039
        fast 2K -
        fast 4K -
        fast ratios 10 auto false
        quality 1K 0.067
        quality 2K 0.101
        quality 4K 0.151
        quality ratios 14 auto true
        pro 1K 0.134
        pro 2K 0.134
        pro 4K 0.24
        pro ratios 14 auto true
        ");
    }
}
