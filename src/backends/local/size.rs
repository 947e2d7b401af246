//! The size that a model is asked for: the job's own where the model can do it, else the largest of the same ratio.

/// Both sides are multiples of this: 8 is what the autoencoders of Stable Diffusion demand, 16 those that came later.
const STEP: u32 = 16;
/// The shortest side that is asked for.
const LEAST: u32 = 64;

/// The size to ask a model for that does at most `max_pixels`, for a picture of `wanted` (width by height).
///
/// Models draw repetitions past the size that they were trained on, and run out of memory far past it; what is made smaller
/// is enlarged afterwards.
pub fn native(wanted: (u32, u32), max_pixels: u64) -> (u32, u32) {
    let (width, height) = (wanted.0.max(1), wanted.1.max(1));
    let area = u64::from(width) * u64::from(height);
    if area <= max_pixels {
        return (up(width), up(height));
    }
    let scale = (max_pixels as f64 / area as f64).sqrt();
    (down(width, scale), down(height, scale))
}

fn up(side: u32) -> u32 {
    side.div_ceil(STEP).saturating_mul(STEP).max(LEAST)
}

fn down(side: u32, scale: f64) -> u32 {
    // A side that is shrunk stays below what it was, so it fits.
    let shrunk = (f64::from(side) * scale) as u32;
    (shrunk / STEP * STEP).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::aspect_ratio::AspectRatio;
    use tintype_storage::domain::tier::{Resolution, Tier};

    const SDXL: u64 = 1_179_648;

    #[test]
    fn every_size_of_1k_is_made_as_it_is() {
        for tier in Tier::ALL {
            for ratio in AspectRatio::ALL {
                let wanted = ratio.pixels(*tier, Resolution::K1);
                assert_eq!(native(wanted, SDXL), wanted, "{tier} {ratio}");
            }
        }
    }

    #[test]
    fn a_larger_one_is_made_within_the_bound_and_nearly_in_its_ratio() {
        for bound in [262_144, SDXL] {
            for ratio in AspectRatio::ALL {
                for resolution in [Resolution::K2, Resolution::K4] {
                    let (width, height) = native(ratio.pixels(Tier::Pro, resolution), bound);
                    assert!(u64::from(width) * u64::from(height) <= bound, "{ratio}");
                    assert_eq!((width % 16, height % 16), (0, 0), "{ratio}");
                    let made = f64::from(width) / f64::from(height);
                    assert!((made / ratio.value()).ln().abs() < 0.09, "{ratio} {made}");
                }
            }
        }
    }

    #[test]
    fn odd_sizes_are_rounded_to_what_models_take() {
        assert_eq!(native((1000, 1001), SDXL), (1008, 1008));
        assert_eq!(native((1, 1), SDXL), (64, 64));
        assert_eq!(native((0, 0), SDXL), (64, 64));
        let (width, height) = native((u32::MAX, u32::MAX), SDXL);
        assert_eq!((width, height), (1072, 1072));
    }
}
