//! Decodes input images.

use bytes::Bytes;
use image::{DynamicImage, RgbImage};
use tintype_imaging::{DecodeError, DecodePermit, ImageKind, open};

use super::error::DrawError;

/// The longest side of a shrunk input. The print would lose finer detail.
const WORKING_SIDE: u32 = 1_280;

/// Decodes all inputs, one after the other, for an image whose long side is `long`.
///
/// # Errors
///
/// The first input that cannot be used, counted from 1.
pub fn decode(
    inputs: &[Bytes],
    long: u32,
    permit: &DecodePermit,
) -> Result<Vec<RgbImage>, DrawError> {
    let side = long.clamp(64, WORKING_SIDE);
    inputs
        .iter()
        .enumerate()
        .map(|(i, bytes)| Ok(on_paper(&decode_input(bytes, i + 1, side, permit)?)))
        .collect()
}

/// Decodes an input within limits, makes it upright, and shrinks it until no side is longer than `longest`. `number` counts from 1.
pub fn decode_input(
    bytes: &[u8],
    number: usize,
    longest: u32,
    permit: &DecodePermit,
) -> Result<DynamicImage, DrawError> {
    let kind = ImageKind::from_bytes(bytes).ok_or(DrawError::Broken { number })?;
    let format = kind.decodable().ok_or(DrawError::Format {
        number,
        format: kind.name(),
    })?;
    let decode = || {
        let opened = open(permit, bytes, format)?;
        let orientation = opened.orientation;
        let mut image = opened.decode(longest)?.into_stored();
        image.apply_orientation(orientation);
        Ok(image)
    };
    decode().map_err(|error| match error {
        DecodeError::TooLarge => DrawError::TooLarge { number },
        DecodeError::Damaged => DrawError::Broken { number },
    })
}

/// Blends transparent parts with the paper.
fn on_paper(image: &DynamicImage) -> RgbImage {
    let rgba = image.to_rgba8();
    let paper = [244u32, 239, 228];
    RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, a] = rgba.get_pixel(x, y).0.map(u32::from);
        let over = |v: u32, p: u32| ((v * a + p * (255 - a)) / 255) as u8;
        image::Rgb([over(r, paper[0]), over(g, paper[1]), over(b, paper[2])])
    })
}
