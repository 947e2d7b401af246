//! Checks a generated image: a single-colour image is a failure; an image below the requested size is enlarged.

use crate::backends::upstream::decoding;
use crate::decode_permits::RESULT_DECODING;
use image::imageops::FilterType;
use tintype_actors::ports::{GenerateError, GeneratedImage, set_cause};
use tintype_imaging::decoding::open_any;
use tintype_imaging::encoding::{self, PngEffort};
use tintype_imaging::{DecodePermit, describe};
use tintype_storage::domain::ids::AccountId;

/// An image with a shorter side is a marker of some kind, not a result to enlarge.
const MIN_SIDE: u32 = 16;

/// Checks an image and enlarges it to `wanted` (width by height), with a centered crop when the ratios differ.
/// An image that is large enough stays byte for byte. Works on the blocking pool: a large image takes a second or two.
///
/// # Errors
/// `BackendFault` for an invalid image and for one of a single colour. These servers return a single colour when the model has failed
/// (numbers out of range, a missing autoencoder or text encoder), and the caller must not pay for it.
pub async fn finish(
    account: AccountId,
    bytes: Vec<u8>,
    wanted: (u32, u32),
) -> Result<GeneratedImage, GenerateError> {
    let description = describe(&bytes);
    let finished = decoding(&RESULT_DECODING, account, move |permit| {
        cover(permit, bytes, wanted)
    })
    .await;
    let bytes = finished.inspect_err(|error| set_cause(format!("{error}: {description}")))?;
    Ok(GeneratedImage::foreign(bytes))
}

fn broken(text: &str) -> GenerateError {
    GenerateError::BackendFault(text.to_owned())
}

fn cover(
    permit: &DecodePermit,
    bytes: Vec<u8>,
    (width, height): (u32, u32),
) -> Result<Vec<u8>, GenerateError> {
    let invalid_image = |_| broken("the image generator did not return a valid image");
    let open = || open_any(permit, &bytes).map_err(invalid_image);
    let inspection = open()?.inspect().map_err(invalid_image)?;
    if inspection.single_colour {
        return Err(broken(
            "the image generator returned an image of a single colour: its model has failed",
        ));
    }
    let (has_width, has_height) = open()?.dimensions();
    if has_width >= width && has_height >= height {
        return Ok(bytes);
    }
    if has_width.min(has_height) < MIN_SIDE {
        return Err(broken(&format!(
            "the image generator returned an image of only {has_width} x {has_height} pixels"
        )));
    }
    let opened = open()?;
    let pixels = opened.decode(u32::MAX).map_err(invalid_image)?;
    drop(bytes);
    let large = pixels.map(|image| {
        let (x, y, w, h) = centered_crop(image.width(), image.height(), (width, height));
        // Crop first: a long strip, enlarged whole until its short side fits, would not fit into memory.
        image
            .crop_imm(x, y, w, h)
            .resize_exact(width, height, FilterType::Lanczos3)
    });
    encoding::png(&large, large.whole(), PngEffort::Fast)
        .map_err(|_| broken("the enlarged image could not be encoded"))
}

/// The largest centered rectangle with the ratio of `wanted`: left, top, width and height.
pub(super) fn centered_crop(width: u32, height: u32, wanted: (u32, u32)) -> (u32, u32, u32, u32) {
    let (across, down) = (
        u64::from(width) * u64::from(wanted.1),
        u64::from(height) * u64::from(wanted.0),
    );
    // `other / by`, rounded, and at most `whole`.
    let side = |other: u64, by: u32, whole: u32| {
        let by = u64::from(by.max(1));
        u32::try_from((other + by / 2) / by).map_or(whole, |it| it.clamp(1, whole))
    };
    let (w, h) = match across > down {
        true => (side(down, wanted.1, width), height),
        false => (width, side(across, wanted.0, height)),
    };
    ((width - w) / 2, (height - h) / 2, w, h)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, Rgb, RgbImage};
    use tintype_imaging::DecodePermits;

    fn cover(bytes: Vec<u8>, wanted: (u32, u32)) -> Result<Vec<u8>, GenerateError> {
        DecodePermits::unshared(|permit| super::cover(permit, bytes, wanted))
    }

    fn encode(image: impl Into<DynamicImage>) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let written = image.into().write_to(&mut bytes, image::ImageFormat::Png);
        written.unwrap();
        bytes.into_inner()
    }

    fn gradient(width: u32, height: u32) -> Vec<u8> {
        let pixels = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 7]));
        encode(pixels)
    }

    fn size(bytes: &[u8]) -> (u32, u32) {
        let image = image::load_from_memory(bytes).unwrap();
        (image.width(), image.height())
    }

    #[test]
    fn an_image_that_is_large_enough_is_unchanged() {
        let bytes = gradient(64, 48);
        assert_eq!(cover(bytes.clone(), (64, 48)).unwrap(), bytes);
        assert_eq!(cover(bytes.clone(), (32, 48)).unwrap(), bytes);
    }

    #[test]
    fn a_smaller_image_is_enlarged_and_cropped_to_the_requested_size() {
        assert_eq!(
            size(&cover(gradient(64, 48), (128, 96)).unwrap()),
            (128, 96)
        );
        assert_eq!(
            size(&cover(gradient(64, 64), (200, 50)).unwrap()),
            (200, 50)
        );
    }

    #[test]
    fn the_crop_is_centered_and_has_the_right_ratio() {
        assert_eq!(centered_crop(64, 48, (128, 96)), (0, 0, 64, 48));
        assert_eq!(centered_crop(64, 64, (200, 50)), (0, 24, 64, 16));
        assert_eq!(centered_crop(100, 10, (10, 10)), (45, 0, 10, 10));
        assert_eq!(centered_crop(16_384, 16, (1024, 1024)), (8_184, 0, 16, 16));
        assert_eq!(centered_crop(16, 16_384, (4096, 512)), (0, 8_191, 16, 2));
        assert_eq!(centered_crop(7, 5, (0, 0)), (0, 2, 7, 1));
    }

    /// If the code enlarged before cropping, the longest strip would have 17 billion pixels.
    #[test]
    fn a_narrow_image_is_cropped_before_it_is_enlarged_and_a_tiny_image_is_rejected() {
        let strip = cover(gradient(16_384, 16), (1024, 1024)).unwrap();
        assert_eq!(size(&strip), (1024, 1024));
        for (width, height) in [(16_384, 1), (1, 16_384), (15, 15), (64, 15)] {
            let fault = cover(gradient(width, height), (1024, 1024)).unwrap_err();
            let expected = format!("only {width} x {height} pixels");
            assert!(fault.to_string().contains(&expected), "{fault}");
        }
    }

    #[test]
    fn an_image_of_a_single_colour_is_a_fault_in_every_pixel_format() {
        let plain = [
            DynamicImage::new_rgb8(9, 9),
            DynamicImage::new_luma8(9, 9),
            DynamicImage::new_rgba16(9, 9),
        ];
        for image in plain {
            let fault = cover(encode(image), (9, 9)).unwrap_err();
            assert!(
                matches!(&fault, GenerateError::BackendFault(text) if text.contains("single colour"))
            );
        }
        let mut nearly = RgbImage::new(9, 9);
        nearly.put_pixel(8, 8, Rgb([0, 0, 1]));
        assert!(cover(encode(nearly), (9, 9)).is_ok());
    }

    #[test]
    fn an_invalid_image_is_a_fault() {
        let whole = gradient(64, 48);
        for bytes in [&b""[..], b"<html>", &whole[..whole.len() / 2], b"GIF89a"] {
            let fault = cover(bytes.to_vec(), (64, 48)).unwrap_err();
            assert!(
                matches!(&fault, GenerateError::BackendFault(text) if text.contains("valid image"))
            );
        }
    }
}
