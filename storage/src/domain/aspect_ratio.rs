//! Aspect ratios of images and their sizes in pixels.

use super::tier::{Resolution, Tier};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A supported ratio, width to height. `auto` is not a ratio: see [`AspectChoice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u8, u8)", into = "(u8, u8)")]
pub struct AspectRatio {
    width: u8,
    height: u8,
}

const fn ratio(width: u8, height: u8) -> AspectRatio {
    AspectRatio { width, height }
}

type Size = (u32, u32);

/// The ratios with their names, the sizes of the model behind `fast`, if it has the ratio, and of the models behind `quality` and `pro`, at 1K.
const SIZES: [(AspectRatio, &str, Option<Size>, Size); 14] = [
    (ratio(1, 1), "1:1", Some((1024, 1024)), (1024, 1024)),
    (ratio(2, 3), "2:3", Some((832, 1248)), (848, 1264)),
    (ratio(3, 2), "3:2", Some((1248, 832)), (1264, 848)),
    (ratio(3, 4), "3:4", Some((864, 1184)), (896, 1200)),
    (ratio(4, 3), "4:3", Some((1184, 864)), (1200, 896)),
    (ratio(4, 5), "4:5", Some((896, 1152)), (928, 1152)),
    (ratio(5, 4), "5:4", Some((1152, 896)), (1152, 928)),
    (ratio(9, 16), "9:16", Some((768, 1344)), (768, 1376)),
    (ratio(16, 9), "16:9", Some((1344, 768)), (1376, 768)),
    (ratio(21, 9), "21:9", Some((1536, 672)), (1584, 672)),
    (ratio(1, 4), "1:4", None, (512, 2048)),
    (ratio(4, 1), "4:1", None, (2048, 512)),
    (ratio(1, 8), "1:8", None, (384, 3072)),
    (ratio(8, 1), "8:1", None, (3072, 384)),
];

#[derive(Debug, thiserror::Error)]
#[error("unknown aspect ratio")]
pub struct UnknownRatio;

impl AspectRatio {
    pub const SQUARE: Self = ratio(1, 1);

    /// Every ratio that a tier may offer.
    pub const ALL: [Self; SIZES.len()] = {
        let mut all = [Self::SQUARE; SIZES.len()];
        let mut at = 0;
        while at < SIZES.len() {
            all[at] = SIZES[at].0;
            at += 1;
        }
        all
    };

    /// Such as `16:9`.
    pub fn as_str(self) -> &'static str {
        let found = SIZES.iter().find(|(ratio, ..)| *ratio == self);
        found.map_or("", |(_, name, ..)| name)
    }

    /// Width over height.
    pub fn value(self) -> f64 {
        f64::from(self.width) / f64::from(self.height)
    }

    /// The offered ratio nearest to `width` by `height`. Compares in log space, so too wide counts like too tall.
    ///
    /// The first of two equally near ratios wins. `None` if none is offered or a side is 0.
    pub fn nearest(offered: &[Self], width: u32, height: u32) -> Option<Self> {
        if width == 0 || height == 0 {
            return None;
        }
        let wanted = (f64::from(width) / f64::from(height)).ln();
        offered.iter().copied().min_by(|a, b| {
            (a.value().ln() - wanted)
                .abs()
                .total_cmp(&(b.value().ln() - wanted).abs())
        })
    }

    /// Width and height in pixels, from the published sizes of the tier's model.
    pub fn pixels(self, tier: Tier, resolution: Resolution) -> (u32, u32) {
        let published = SIZES.iter().find(|(ratio, ..)| *ratio == self);
        let size = published.and_then(|(_, _, fast, large)| match tier {
            Tier::Fast => *fast,
            Tier::Quality | Tier::Pro => Some(*large),
        });
        let (width, height) = size.unwrap_or_else(|| self.same_area());
        (width * resolution.factor(), height * resolution.factor())
    }

    /// The area of 1:1 with sides in steps of 16.
    fn same_area(self) -> (u32, u32) {
        let side = |value: f64| ((1024.0 * value / 16.0).round() as u32).max(1) * 16;
        (side(self.value().sqrt()), side((1.0 / self.value()).sqrt()))
    }
}

impl From<AspectRatio> for (u8, u8) {
    fn from(ratio: AspectRatio) -> Self {
        (ratio.width, ratio.height)
    }
}

impl TryFrom<(u8, u8)> for AspectRatio {
    type Error = UnknownRatio;

    /// Any other ratio in a record is corruption: a side of 0 must not reach the arithmetic.
    fn try_from((width, height): (u8, u8)) -> Result<Self, UnknownRatio> {
        Self::ALL
            .into_iter()
            .find(|it| *it == ratio(width, height))
            .ok_or(UnknownRatio)
    }
}

impl fmt::Display for AspectRatio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AspectRatio {
    type Err = UnknownRatio;

    fn from_str(text: &str) -> Result<Self, UnknownRatio> {
        let mut all = Self::ALL.into_iter();
        all.find(|it| it.as_str() == text).ok_or(UnknownRatio)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AspectChoice {
    Fixed(AspectRatio),
    /// The offered ratio nearest to the first input image's, after its EXIF orientation.
    Auto,
}

impl fmt::Display for AspectChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(ratio) => ratio.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_round_trip_and_other_text_is_rejected() {
        assert!(
            AspectRatio::ALL
                .iter()
                .all(|it| it.to_string().parse::<AspectRatio>().unwrap() == *it)
        );
        for bad in [
            "16:9 ",
            "１６:９",
            "0:0",
            "16 : 9",
            "016:9",
            "+16:9",
            "16:9:1",
            "",
            ":",
            "7:5",
            "auto",
        ] {
            assert!(bad.parse::<AspectRatio>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_name_of_a_ratio_is_width_and_height() {
        for it in AspectRatio::ALL {
            assert_eq!(it.as_str(), format!("{}:{}", it.width, it.height));
        }
    }

    #[test]
    fn only_supported_ratios_are_decoded() {
        for it in AspectRatio::ALL {
            let bytes = postcard::to_stdvec(&it).unwrap();
            assert_eq!(bytes, [it.width, it.height]);
            assert_eq!(postcard::from_bytes::<AspectRatio>(&bytes).unwrap(), it);
        }
        for bad in [[0, 0], [1, 0], [0, 1], [2, 2], [255, 1]] {
            assert!(
                postcard::from_bytes::<AspectRatio>(&bad).is_err(),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn auto_takes_the_nearest_in_log_space() {
        let all = &AspectRatio::ALL;
        let nearest = |w, h| AspectRatio::nearest(all, w, h).unwrap().to_string();
        assert_eq!(nearest(1920, 1080), "16:9");
        assert_eq!(nearest(1080, 1920), "9:16");
        assert_eq!(nearest(1000, 1001), "1:1");
        assert_eq!(nearest(100, 5_000), "1:8");
        assert_eq!(nearest(5_000, 100), "8:1");
        assert_eq!(nearest(2_500, 1_000), "21:9");
        assert_eq!(AspectRatio::nearest(&[], 1, 1), None);
        assert_eq!(AspectRatio::nearest(all, 0, 1), None);
    }

    #[test]
    fn every_size_is_the_published_one() {
        let sizes: String = Tier::ALL
            .into_iter()
            .flat_map(|tier| AspectRatio::ALL.map(|it| (tier, it)))
            .map(|(tier, it)| {
                let [one, four] =
                    [Resolution::K1, Resolution::K4].map(|resolution| it.pixels(tier, resolution));
                format!("{tier} {it} {}x{} {}x{}\n", one.0, one.1, four.0, four.1)
            })
            .collect();
        insta::assert_snapshot!(sizes);
    }
}
