//! Looks at a picture that came from elsewhere: is it one, is it sound, has it the shape of the job?

use super::{jpeg_end, png_text, probe};
use crate::decoding::{Leave, MAX_PIXELS, MAX_SIDE, open};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageFormat};
use tintype_actors::generator::GenerateError;
use tintype_storage::domain::aspect_ratio::AspectRatio;

/// Shortest side: less is no picture but a marker of some kind.
const MIN_SIDE: u32 = 16;
/// How far off a shape may be: models round the sides, the published size for 3:4 of one by 2.7 hundredths.
const TOLERANCE: f64 = 0.03;
const JPEG_QUALITY: u8 = 95;

/// The picture as it is to be kept.
///
/// It is decoded to the last pixel, because half a picture has the header of a whole one. Its bytes are kept as they came,
/// but for the texts of a PNG, unless it has to be cropped.
///
/// # Errors
/// [`GenerateError::Broken`], for another back end may do better.
pub fn checked(
    leave: &Leave,
    bytes: Vec<u8>,
    ratio: AspectRatio,
) -> Result<Vec<u8>, GenerateError> {
    let probed = probe(&bytes)?;
    let (width, height) = (probed.width, probed.height);
    let pixels = u64::from(width) * u64::from(height);
    let sides = MIN_SIDE..=MAX_SIDE;
    if !sides.contains(&width) || !sides.contains(&height) || pixels > MAX_PIXELS {
        return Err(GenerateError::Broken(format!(
            "the image generator answered with a picture of {width} x {height} pixels, which cannot be right"
        )));
    }
    let damaged = || {
        GenerateError::Broken("the image generator answered with a picture that is damaged".into())
    };
    let broken = |_| damaged();
    if probed.format == ImageFormat::Jpeg && !jpeg_end::is_there(&bytes) {
        return Err(damaged());
    }
    let opened = open(leave, &bytes, probed.format).map_err(broken)?;
    let image = opened.decode().map_err(broken)?;
    let Some((x, y, width, height)) = crop(image.width(), image.height(), ratio) else {
        return Ok(match probed.format {
            ImageFormat::Png => png_text::without(bytes),
            _ => bytes,
        });
    };
    encoded(&image.crop_imm(x, y, width, height), probed.format).map_err(|error| {
        GenerateError::Broken(format!("the picture could not be cropped: {error}"))
    })
}

/// The middle of a picture that has the ratio, as left, top, width and height; `None` where the picture has it.
fn crop(width: u32, height: u32, ratio: AspectRatio) -> Option<(u32, u32, u32, u32)> {
    let (has, wanted) = (f64::from(width) / f64::from(height), ratio.value());
    if (has / wanted).ln().abs() <= TOLERANCE {
        return None;
    }
    let side = |value: f64, most: u32| (value.round() as u32).clamp(1, most);
    let (w, h) = match has > wanted {
        true => (side(f64::from(height) * wanted, width), height),
        false => (width, side(f64::from(width) / wanted, height)),
    };
    Some(((width - w) / 2, (height - h) / 2, w, h))
}

/// In the format that it came in; GIF, of which only the first frame is left, as PNG.
fn encoded(image: &DynamicImage, format: ImageFormat) -> image::ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    match format {
        ImageFormat::Jpeg => {
            let opaque = DynamicImage::ImageRgb8(image.to_rgb8());
            opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
        }
        ImageFormat::WebP => {
            let plain = DynamicImage::ImageRgba8(image.to_rgba8());
            plain.write_with_encoder(WebPEncoder::new_lossless(&mut bytes))?;
        }
        _ => image.write_with_encoder(PngEncoder::new_with_quality(
            &mut bytes,
            CompressionType::Fast,
            FilterType::Adaptive,
        ))?,
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{Rgb, RgbImage};
    use std::io::Cursor;

    fn checked(bytes: Vec<u8>, ratio: AspectRatio) -> Result<Vec<u8>, GenerateError> {
        super::checked(&Leave::of_a_test(), bytes, ratio)
    }

    fn file(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let image = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 7]));
        let mut bytes = Vec::new();
        let image = DynamicImage::from(image);
        image
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes
    }

    fn size(bytes: &[u8]) -> (ImageFormat, u32, u32) {
        let probed = probe(bytes).unwrap();
        (probed.format, probed.width, probed.height)
    }

    fn ratio(text: &str) -> AspectRatio {
        text.parse().unwrap()
    }

    #[test]
    fn a_picture_of_the_right_shape_is_kept_byte_for_byte() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let bytes = file(848, 1264, format);
            assert_eq!(checked(bytes.clone(), ratio("2:3")).unwrap(), bytes);
        }
    }

    #[test]
    fn every_published_size_is_near_enough_to_its_ratio() {
        use tintype_storage::domain::tier::{Resolution, Tier};
        for it in AspectRatio::ALL {
            for tier in Tier::ALL {
                let (width, height) = it.pixels(*tier, Resolution::K1);
                assert_eq!(crop(width, height, it), None, "{it} {width}x{height}");
            }
        }
    }

    #[test]
    fn another_shape_is_cropped_in_its_own_format() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let bytes = checked(file(400, 300, format), ratio("1:1")).unwrap();
            assert_eq!(size(&bytes), (format, 300, 300));
        }
        let gif = checked(file(64, 64, ImageFormat::Gif), ratio("2:3")).unwrap();
        assert_eq!(size(&gif), (ImageFormat::Png, 43, 64));
        assert_eq!(crop(1584, 672, ratio("8:1")), Some((0, 237, 1584, 198)));
    }

    #[test]
    fn half_a_picture_and_no_picture_are_broken() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let whole = file(300, 300, format);
            let half = checked(whole[..whole.len() / 2].to_vec(), ratio("1:1"));
            assert!(matches!(half, Err(GenerateError::Broken(_))), "{format:?}");
        }
        for other in [&b"<html>"[..], b"", b"\0\0\0\x14ftypavif\0\0\0\0avif"] {
            let bytes = checked(other.to_vec(), ratio("1:1"));
            assert!(matches!(bytes, Err(GenerateError::Broken(_))));
        }
    }

    #[test]
    fn sizes_that_cannot_be_right_are_broken() {
        for (width, height) in [(8, 8), (17_000, 20), (10_000, 9_000)] {
            let mut png = file(8, 8, ImageFormat::Png);
            // The header says another size, and its checksum says so too.
            png[16..20].copy_from_slice(&u32::to_be_bytes(width));
            png[20..24].copy_from_slice(&u32::to_be_bytes(height));
            let sum = crc(&png[12..29]);
            png[29..33].copy_from_slice(&sum.to_be_bytes());
            let error = checked(png, ratio("1:1")).unwrap_err().to_string();
            assert!(error.contains("cannot be right"), "{error}");
        }
    }

    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            }
        }
        !crc
    }
}
