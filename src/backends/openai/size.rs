//! The `size` to request from a model.

use tintype_storage::domain::aspect_ratio::AspectRatio;

/// The longest side that the newer models accept, in pixels.
const MAX_LONG_SIDE: f64 = 3_840.0;
/// Long side divided by short side.
const MAX_RATIO: f64 = 3.0;
const MIN_PIXELS: f64 = 655_360.0;
const MAX_PIXELS: f64 = 8_294_400.0;
const STEP: f64 = 16.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// OpenAI's first image models: three sizes.
    ThreeSizes,
    /// OpenAI's newer image models: any size in steps of 16 within limits.
    Bounded,
    /// A model of another server: any size is requested unchanged.
    Any,
}

impl Family {
    pub fn of(model: Option<&str>) -> Self {
        let id = model.unwrap_or_default();
        let first = ["gpt-image-1-", "gpt-image-1.", "chatgpt-image"];
        if id == "gpt-image-1" || first.iter().any(|it| id.starts_with(it)) {
            Self::ThreeSizes
        } else if id.starts_with("gpt-image-") {
            Self::Bounded
        } else {
            Self::Any
        }
    }

    /// The supported size nearest to `pixels` in shape, at about the same area.
    pub fn size(self, ratio: AspectRatio, pixels: (u32, u32)) -> (u32, u32) {
        match self {
            Self::Any => pixels,
            Self::ThreeSizes => three_sizes(ratio),
            Self::Bounded => clamp_size(pixels),
        }
    }
}

fn three_sizes(ratio: AspectRatio) -> (u32, u32) {
    let sizes = [(1024, 1024), (1536, 1024), (1024, 1536)];
    let wanted = ratio.value().ln();
    let distance = |(width, height): &(u32, u32)| {
        ((f64::from(*width) / f64::from(*height)).ln() - wanted).abs()
    };
    sizes
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or((1024, 1024))
}

fn clamp_size((width, height): (u32, u32)) -> (u32, u32) {
    let (long, short) = (f64::from(width.max(height)), f64::from(width.min(height)));
    let ratio = (long / short).min(MAX_RATIO);
    let area = (long * short).max(MIN_PIXELS);
    let side = (area / ratio).sqrt();
    // Both sides shrink by the same factor, so the ratio stays.
    let scale = (MAX_LONG_SIDE / (side * ratio))
        .min((MAX_PIXELS / area).sqrt())
        .min(1.0);
    let (long, short) = (side * ratio * scale, side * scale);
    // At the maximum ratio the short side is rounded up, because rounding down would exceed the ratio.
    let short = match ratio < MAX_RATIO {
        true => (short / STEP).round() * STEP,
        false => (short / STEP).ceil() * STEP,
    };
    let mut long = (long / STEP).round() * STEP;
    if long > short * MAX_RATIO {
        long = short * MAX_RATIO;
    }
    while long * short < MIN_PIXELS {
        long += STEP;
    }
    while long * short > MAX_PIXELS {
        long -= STEP;
    }
    let (long, short) = (long as u32, short as u32);
    if width >= height {
        (long, short)
    } else {
        (short, long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::tier::{Resolution, Tier};

    #[test]
    fn families_are_recognized_by_their_ids() {
        for (id, family) in [
            ("gpt-image-1", Family::ThreeSizes),
            ("gpt-image-1.5", Family::ThreeSizes),
            ("gpt-image-1-mini", Family::ThreeSizes),
            ("chatgpt-image-latest", Family::ThreeSizes),
            ("gpt-image-2", Family::Bounded),
            ("gpt-image-2.6-sunburst", Family::Bounded),
            ("gpt-image-10", Family::Bounded),
            ("Qwen/Qwen-Image", Family::Any),
            ("sd-cpp-local", Family::Any),
        ] {
            assert_eq!(Family::of(Some(id)), family, "{id}");
        }
        assert_eq!(Family::of(None), Family::Any);
    }

    #[test]
    fn the_first_models_get_one_of_their_three_sizes() {
        let size = |ratio: &str| Family::ThreeSizes.size(ratio.parse().unwrap(), (1, 1));
        assert_eq!(size("1:1"), (1024, 1024));
        assert_eq!(size("16:9"), (1536, 1024));
        assert_eq!(size("1:8"), (1024, 1536));
        assert_eq!(size("5:4"), (1536, 1024));
    }

    #[test]
    fn another_server_gets_the_exact_size_of_the_table() {
        let ratio = "16:9".parse().unwrap();
        assert_eq!(Family::Any.size(ratio, (1376, 768)), (1376, 768));
    }

    #[test]
    fn every_size_requested_from_a_newer_model_is_within_its_limits() {
        for ratio in AspectRatio::ALL {
            for tier in Tier::ALL {
                for resolution in Resolution::ALL {
                    let pixels = ratio.pixels(tier, resolution);
                    let (width, height) = Family::Bounded.size(ratio, pixels);
                    let (long, short) = (width.max(height), width.min(height));
                    let case = format!("{ratio} {pixels:?} -> {width}x{height}");
                    assert!(width % 16 == 0 && height % 16 == 0, "{case}");
                    assert!(long <= 3_840 && short > 0, "{case}");
                    assert!(long <= short * 3, "{case}");
                    let area = long * short;
                    assert!((655_360..=8_294_400).contains(&area), "{case}");
                    assert_eq!(width > height, ratio.value() > 1.0, "{case}");
                }
            }
        }
        let size = |w, h| Family::Bounded.size(AspectRatio::SQUARE, (w, h));
        assert_eq!(size(1376, 768), (1376, 768));
        assert_eq!(size(1024, 1024), (1024, 1024));
        assert_eq!(size(4096, 4096), (2880, 2880));
        assert_eq!(size(4800, 3584), (3312, 2496));
        assert_eq!(size(5504, 3072), (3840, 2144));
        assert_eq!(size(512, 512), (816, 816));
    }
}
