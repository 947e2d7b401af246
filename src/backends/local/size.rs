//! The size to request from a model: the job's own if the model supports it, else the largest of the same ratio.

/// Both sides are multiples of this. Stable Diffusion's autoencoders need multiples of 8, later ones 16.
const STEP: u32 = 16;
const MIN_SIDE: u32 = 64;

/// The size (width by height) to request from a model that generates at most `max_pixels`. [`finish`](super::finish) enlarges the
/// result to `wanted`.
///
/// Past the size that they were trained on, models repeat content; far past it they run out of memory.
pub fn native(wanted: (u32, u32), max_pixels: u64) -> (u32, u32) {
    let (width, height) = (wanted.0.max(1), wanted.1.max(1));
    let area = u64::from(width) * u64::from(height);
    if area <= max_pixels {
        return (round_up(width), round_up(height));
    }
    let scale = (max_pixels as f64 / area as f64).sqrt();
    (scale_down(width, scale), scale_down(height, scale))
}

fn round_up(side: u32) -> u32 {
    side.div_ceil(STEP).saturating_mul(STEP).max(MIN_SIDE)
}

fn scale_down(side: u32, scale: f64) -> u32 {
    // `scale` is below 1, so the result fits into u32.
    let shrunk = (f64::from(side) * scale) as u32;
    (shrunk / STEP * STEP).max(MIN_SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::aspect_ratio::AspectRatio;
    use tintype_storage::domain::tier::{Resolution, Tier};

    const SDXL: u64 = 1_179_648;

    #[test]
    fn every_1k_size_is_generated_unchanged() {
        for tier in Tier::ALL {
            for ratio in AspectRatio::ALL {
                let wanted = ratio.pixels(tier, Resolution::K1);
                assert_eq!(native(wanted, SDXL), wanted, "{tier} {ratio}");
            }
        }
    }

    #[test]
    fn a_larger_size_is_reduced_to_the_pixel_limit_with_nearly_the_same_ratio() {
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
    fn odd_sizes_are_rounded_to_sizes_that_models_support() {
        assert_eq!(native((1000, 1001), SDXL), (1008, 1008));
        assert_eq!(native((1, 1), SDXL), (64, 64));
        assert_eq!(native((0, 0), SDXL), (64, 64));
        let (width, height) = native((u32::MAX, u32::MAX), SDXL);
        assert_eq!((width, height), (1072, 1072));
    }
}
