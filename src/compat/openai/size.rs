//! `size`: maps pixels to the nearest aspect ratio and resolution.

use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::{Catalog, Offer};
use tintype_storage::domain::tier::{Resolution, Tier};

/// Maximum side length in pixels.
pub const MAX_SIDE: u32 = 16_384;

/// The offered aspect ratio nearest to a size such as `1536x1024`, and the resolution with the nearest area, both in log space.
/// `None` if the text is not a size.
pub fn nearest(text: &str, tier: Tier, catalog: &Catalog) -> Option<(AspectRatio, Offer)> {
    let (width, height) = text.split_once('x')?;
    let (width, height) = (side(width)?, side(height)?);
    let of_tier = catalog.tier(tier);
    let ratio = AspectRatio::nearest(&of_tier.aspect_ratios, width, height)?;
    let area = |(width, height): (u32, u32)| (f64::from(width) * f64::from(height)).ln();
    let requested = area((width, height));
    let distance =
        |resolution: Resolution| (area(ratio.pixels(tier, resolution)) - requested).abs();
    let resolutions = of_tier.prices.iter().map(|(resolution, _)| *resolution);
    let resolution = resolutions.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))?;
    Some((ratio, catalog.offer(tier, resolution)?))
}

fn side(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let side = text.parse().ok()?;
    (digits && (1..=MAX_SIDE).contains(&side)).then_some(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::catalog;
    use crate::config::{Config, Sources};

    #[test]
    fn a_size_maps_to_the_nearest_offer() {
        let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
        let mut table = String::new();
        for size in [
            "256x256",
            "512x512",
            "1024x1024",
            "1536x1024",
            "1024x1536",
            "1792x1024",
            "1024x1792",
            "2048x2048",
            "3840x2160",
            "4096x4096",
            "16384x1",
            "1x16384",
        ] {
            table.push_str(size);
            for tier in Tier::ALL {
                let (ratio, offer) = nearest(size, tier, &catalog).unwrap();
                table.push_str(&format!(" | {tier} {ratio} {}", offer.resolution()));
            }
            table.push('\n');
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn other_text_is_not_a_size() {
        let catalog = catalog(&Config::load(&Sources::default()).unwrap().tiers);
        for bad in [
            "",
            "x",
            "1024",
            "1024x",
            "x1024",
            "0x1",
            "+1x1",
            "1x1x1",
            "99999x1",
            "1024X1024",
            "1.5x2",
            "auto",
        ] {
            assert_eq!(nearest(bad, Tier::Pro, &catalog), None, "{bad}");
        }
    }
}
