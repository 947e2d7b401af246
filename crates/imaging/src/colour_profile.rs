//! ICC profiles, which give the colours of an image their meaning. Without its profile, a photo in Display P3 or Adobe RGB looks dull.

use bytes::Bytes;
use png::{Decoder, Limits};
use std::io::Cursor;

/// Profiles of RGB spaces have at most 64 KB. A larger one would need the space of the pixels in a file of limited size.
const MAX_BYTES: usize = 256 * 1024;
/// The memory limit for reading the profile of a PNG: compressed and decompressed, and a row.
const PNG_LIMITS: Limits = Limits {
    bytes: 4 * MAX_BYTES,
};

/// `None` for a profile of another colour space, such as CMYK, because decoding converts the pixels to RGB.
pub fn of_rgb(profile: Vec<u8>) -> Option<Bytes> {
    let is_profile = profile.get(36..40) == Some(b"acsp");
    let is_rgb = profile.get(16..20) == Some(b"RGB ");
    (is_profile && is_rgb && profile.len() <= MAX_BYTES).then(|| profile.into())
}

/// The RGB profile of a PNG. It has a decoder with a low limit, because a compressed profile may decompress to any length.
pub fn of_png(png: &[u8]) -> Option<Bytes> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(png), PNG_LIMITS);
    decoder.set_ignore_text_chunk(true);
    let reader = decoder.read_info().ok()?;
    of_rgb(reader.info().icc_profile.as_ref()?.to_vec())
}

/// The header of a profile, and as many bytes as it takes to get this length.
#[cfg(test)]
pub fn sample(space: &[u8; 4], length: usize) -> Vec<u8> {
    let mut profile = vec![7; length];
    profile[16..20].copy_from_slice(space);
    profile[36..40].copy_from_slice(b"acsp");
    profile
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::codecs::png::PngEncoder;
    use image::{ImageEncoder as _, RgbImage};

    fn png_with(profile: Vec<u8>) -> Vec<u8> {
        let mut png = Vec::new();
        let mut encoder = PngEncoder::new(&mut png);
        encoder.set_icc_profile(profile).expect("a PNG has one");
        let image = RgbImage::new(4, 3);
        image.write_with_encoder(encoder).expect("written");
        png
    }

    #[test]
    fn only_a_profile_of_rgb_is_used() {
        let rgb = sample(b"RGB ", 500);
        assert_eq!(of_rgb(rgb.clone()).as_deref(), Some(&rgb[..]));
        for other in [b"CMYK", b"GRAY", b"Lab "] {
            assert_eq!(of_rgb(sample(other, 500)), None);
        }
        assert_eq!(of_rgb(vec![0; 500]), None);
        assert_eq!(of_rgb(Vec::new()), None);
    }

    #[test]
    fn a_profile_has_a_limited_length() {
        let largest = sample(b"RGB ", MAX_BYTES);
        assert_eq!(of_png(&png_with(largest.clone())), Some(largest.into()));
        for length in [MAX_BYTES + 1, 50_000_000] {
            let bomb = png_with(sample(b"RGB ", length));
            assert!(bomb.len() < 200_000, "{}", bomb.len());
            assert_eq!(of_png(&bomb), None);
        }
        assert_eq!(of_png(b"no image"), None);
    }
}
