//! Crops input images for servers that would stretch them to the requested size.

use super::finish::centered_crop;
use crate::backends::upstream::decoding;
use crate::decode_permits::INPUT_DECODING;
use tintype_actors::ports::GenerateError;
use tintype_imaging::decoding::open_any;
use tintype_imaging::encoding::{self, PngEffort};
use tintype_imaging::fit::FittedImage;
use tintype_imaging::{DecodePermit, ImageKind, Rect};
use tintype_storage::domain::ids::AccountId;

/// A crop that removes at most one part in this many of a side is not worth a conversion: the stretching would not be seen. The sizes of
/// models are rounded, so even an image of the job's ratio differs a little from them.
const MIN_CROP: u32 = 50;

/// Crops an upright image to the ratio of `size` (width by height), around its middle, and shrinks it to about that size. An image that
/// nearly has the ratio stays byte for byte. Images of equal dimensions are cropped alike.
///
/// # Errors
/// `InvalidRequest` for a damaged image.
pub async fn crop(
    account: AccountId,
    image: FittedImage,
    size: (u32, u32),
) -> Result<FittedImage, GenerateError> {
    let cropped = move |permit: &DecodePermit| crop_now(permit, image, size);
    decoding(&INPUT_DECODING, account, cropped).await
}

fn crop_now(
    permit: &DecodePermit,
    image: FittedImage,
    size: (u32, u32),
) -> Result<FittedImage, GenerateError> {
    let damaged = |_| {
        GenerateError::InvalidRequest("an input image is damaged and cannot be decoded".to_owned())
    };
    let opened = open_any(permit, &image.bytes).map_err(damaged)?;
    let (width, height) = opened.dimensions();
    let (_, _, cropped_width, cropped_height) = centered_crop(width, height, size);
    if width - cropped_width <= width / MIN_CROP && height - cropped_height <= height / MIN_CROP {
        drop(opened);
        return Ok(image);
    }
    // The server needs no more pixels than it generates, and a whole photograph would be a large PNG.
    let scale = f64::max(
        f64::from(size.0) / f64::from(cropped_width),
        f64::from(size.1) / f64::from(cropped_height),
    );
    let longest = (f64::from(width.max(height)) * scale).ceil() as u32;
    let pixels = opened.decode(longest).map_err(damaged)?;
    let (x, y, width, height) = centered_crop(pixels.width(), pixels.height(), size);
    let part = Rect {
        x,
        y,
        width,
        height,
    };
    let bytes = encoding::png(&pixels, part, PngEffort::Fast).map_err(|error| {
        GenerateError::BackendFault(format!("an input image could not be encoded: {error}"))
    })?;
    Ok(FittedImage {
        bytes: bytes.into(),
        kind: ImageKind::Png,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
    use std::io::Cursor;
    use tintype_imaging::DecodePermits;

    fn cropped(width: u32, height: u32, size: (u32, u32)) -> (FittedImage, FittedImage) {
        let pixels = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 7]));
        let mut jpeg = Cursor::new(Vec::new());
        let image = DynamicImage::from(pixels);
        image.write_to(&mut jpeg, ImageFormat::Jpeg).unwrap();
        let given = FittedImage {
            bytes: jpeg.into_inner().into(),
            kind: ImageKind::Jpeg,
        };
        let crop = |permit: &DecodePermit| crop_now(permit, given.clone(), size);
        let cropped = DecodePermits::unshared(crop).unwrap();
        (given, cropped)
    }

    #[test]
    fn an_image_of_the_ratio_stays_byte_for_byte() {
        // The sizes of models are rounded: 16:9, 3:2 and 21:9.
        for ((width, height), size) in [
            ((192, 108), (1_376, 768)),
            ((300, 200), (1_264, 848)),
            ((210, 90), (1_584, 672)),
            ((64, 64), (512, 512)),
            ((2_000, 2_000), (512, 512)),
        ] {
            let (given, cropped) = cropped(width, height, size);
            assert_eq!(given.bytes, cropped.bytes, "{width}x{height}");
        }
    }

    #[test]
    fn an_image_of_another_ratio_is_cropped_and_never_enlarged() {
        for ((width, height), size, expected) in [
            ((300, 200), (1_024, 1_024), (200, 200)),
            ((200, 300), (64, 64), (64, 64)),
            ((160, 90), (90, 160), (51, 90)),
        ] {
            let (_, cropped) = cropped(width, height, size);
            let read = image::load_from_memory(&cropped.bytes).unwrap();
            assert_eq!((read.width(), read.height()), expected);
            assert_eq!(cropped.kind, ImageKind::Png);
        }
    }

    #[test]
    fn a_damaged_image_is_reported() {
        let damaged = FittedImage {
            bytes: b"no image".as_slice().into(),
            kind: ImageKind::Png,
        };
        let crop = |permit: &DecodePermit| crop_now(permit, damaged.clone(), (64, 64));
        let fault = DecodePermits::unshared(crop).unwrap_err();
        assert!(matches!(fault, GenerateError::InvalidRequest(_)), "{fault}");
    }
}
