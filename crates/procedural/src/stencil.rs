//! A mask: where it is opaque, the first input image stays.

use super::error::DrawError;
use bytes::Bytes;
use image::RgbaImage;
use image::imageops::FilterType;
use tintype_imaging::decoding::open_any;
use tintype_imaging::{DecodeError, DecodePermit};

/// The first input image in the size of the drawing. Its alpha channel is that of the mask.
#[derive(Debug)]
pub struct Stencil(RgbaImage);

/// Decodes the first input image and the mask, the last one.
///
/// # Errors
/// One of them cannot be decoded, or the mask has no alpha channel.
pub fn decode(
    inputs: &[Bytes],
    size: (u32, u32),
    permit: &DecodePermit,
) -> Result<Stencil, DrawError> {
    let number = inputs.len();
    let [first, .., mask] = inputs else {
        return Err(DrawError::Mask);
    };
    let (mask, has_alpha) = decode_one(mask, number, size, permit)?;
    if !has_alpha {
        return Err(DrawError::Mask);
    }
    let (mut image, _) = decode_one(first, 1, size, permit)?;
    for (pixel, mask) in image.pixels_mut().zip(mask.pixels()) {
        pixel.0[3] = mask.0[3];
    }
    Ok(Stencil(image))
}

/// The image in this size, and whether its file has an alpha channel.
fn decode_one(
    bytes: &[u8],
    number: usize,
    (width, height): (u32, u32),
    permit: &DecodePermit,
) -> Result<(RgbaImage, bool), DrawError> {
    let fault = |fault| match fault {
        DecodeError::TooLarge => DrawError::TooLarge { number },
        DecodeError::Damaged => DrawError::Broken {
            number,
            reason: "it is damaged".to_owned(),
        },
    };
    let opened = open_any(permit, bytes).map_err(fault)?;
    let orientation = opened.orientation;
    let pixels = opened.decode(width.max(height)).map_err(fault)?;
    let has_alpha = pixels.has_alpha();
    let mut image = pixels.into_stored();
    image.apply_orientation(orientation);
    if (image.width(), image.height()) != (width, height) {
        image = image.resize_to_fill(width, height, FilterType::Triangle);
    }
    Ok((image.into_rgba8(), has_alpha))
}

impl Stencil {
    /// Covers a drawing, whose pixels are RGB.
    pub fn cover(&self, drawing: &mut [u8]) {
        for (drawn, kept) in drawing
            .as_chunks_mut::<3>()
            .0
            .iter_mut()
            .zip(self.0.pixels())
        {
            let alpha = u32::from(kept.0[3]);
            for (drawn, kept) in drawn.iter_mut().zip(kept.0) {
                let mixed = u32::from(kept) * alpha + u32::from(*drawn) * (255 - alpha);
                *drawn = ((mixed + 127) / 255) as u8;
            }
        }
    }
}
