//! Looks at a picture that came from elsewhere: is it one, is it sound, has it the shape of the job?

use super::{Kept, Probed, jpeg_end, jpeg_text, png_text, probe, webp_text};
use crate::decoding::{Leave, MAX_PIXELS, MAX_SIDE, open};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::codecs::webp::WebPEncoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageFormat};
use tintype_actors::ports::GenerateError;
use tintype_storage::domain::aspect_ratio::AspectRatio;

/// Shortest side: less is no picture but a marker of some kind.
const MIN_SIDE: u32 = 16;
/// How far off a shape may be: models round the sides, the published size for 3:4 of one by 2.7 hundredths.
const TOLERANCE: f64 = 0.03;
const JPEG_QUALITY: u8 = 95;

/// The picture as it is to be kept.
///
/// It is decoded to the last pixel, because half a picture has the header of a whole one. Its bytes are kept as they came, but
/// for what tells how it was made, unless it has to be cropped or turned.
///
/// # Errors
/// [`GenerateError::Broken`], for another back end may do better.
pub fn checked(leave: &Leave, bytes: Vec<u8>, ratio: AspectRatio) -> Result<Kept, GenerateError> {
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
    let orientation = opened.orientation;
    let image = opened.decode().map_err(broken)?;
    let whole = (0, 0, image.width(), image.height());
    let part = crop(image.width(), image.height(), ratio);
    if part.is_none() && orientation == Orientation::NoTransforms {
        let bytes = match probed.format {
            ImageFormat::Png => png_text::without(bytes),
            ImageFormat::Jpeg => jpeg_text::without(bytes),
            ImageFormat::WebP => webp_text::without(bytes),
            _ => bytes,
        };
        return Ok(Kept { bytes, probed });
    }
    drop(bytes);
    // One that is turned by its Exif block is written anew too, for that block goes.
    let (x, y, width, height) = part.unwrap_or(whole);
    let bytes = encoded(&image.crop_imm(x, y, width, height), probed.format).map_err(|error| {
        GenerateError::Broken(format!("the picture could not be written anew: {error}"))
    })?;
    let probed = Probed {
        width,
        height,
        ..probe(&bytes)?
    };
    Ok(Kept { bytes, probed })
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
        let kept = super::checked(&Leave::of_a_test(), bytes, ratio)?;
        let told = (kept.probed.format, kept.probed.width, kept.probed.height);
        assert_eq!(told, size(&kept.bytes), "what is told is what is kept");
        Ok(kept.bytes)
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

    /// An Exif block that says "turned by 90 degrees", and a prompt.
    fn exif() -> Vec<u8> {
        let mut exif =
            b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
        exif.extend(b"a s3cret prompt");
        exif
    }

    #[test]
    fn a_picture_that_lies_on_its_side_is_turned_and_tells_nothing() {
        let (jpeg, png) = (
            file(60, 40, ImageFormat::Jpeg),
            file(60, 40, ImageFormat::Png),
        );
        let block = [b"Exif\0\0".to_vec(), exif()].concat();
        let length = u16::try_from(block.len() + 2).unwrap().to_be_bytes();
        let jpeg = [&jpeg[..2], &[0xff, 0xe1], &length, &block, &jpeg[2..]].concat();
        let named = [b"eXIf".to_vec(), exif()].concat();
        let length = u32::try_from(exif().len()).unwrap().to_be_bytes();
        let chunk = [&length[..], &named, &crc(&named).to_be_bytes()].concat();
        let png = [&png[..33], &chunk, &png[33..]].concat();
        for (turned, format) in [(jpeg, ImageFormat::Jpeg), (png, ImageFormat::Png)] {
            let kept = checked(turned, ratio("2:3")).unwrap();
            assert_eq!(size(&kept), (format, 40, 60));
            assert!(!kept.windows(6).any(|it| it == b"s3cret"), "{format:?}");
        }
    }

    #[test]
    fn half_a_picture_and_no_picture_are_broken() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let whole = file(300, 300, format);
            let half = checked(whole[..whole.len() / 2].to_vec(), ratio("1:1"));
            assert!(matches!(half, Err(GenerateError::Broken(_))), "{format:?}");
        }
        for other in [&b"<html>"[..], b""] {
            let bytes = checked(other.to_vec(), ratio("1:1"));
            assert!(matches!(bytes, Err(GenerateError::Broken(_))));
        }
        let avif = b"\0\0\0\x14ftypavif\0\0\0\0avif".to_vec();
        let told = checked(avif, ratio("1:1")).unwrap_err();
        assert!(matches!(&told, GenerateError::Broken(text) if text.contains("AVIF")));
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
