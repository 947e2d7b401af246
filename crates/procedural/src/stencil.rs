//! A mask: where it is opaque, the first input image stays.

use super::error::DrawError;
use super::inputs::decode_input;
use bytes::Bytes;
use image::imageops::FilterType;
use image::{DynamicImage, RgbaImage};
use tintype_imaging::DecodePermit;

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
    let [first, .., mask] = inputs else {
        return Err(DrawError::Mask);
    };
    let (width, height) = size;
    let decode = |bytes, number| decode_input(bytes, number, width.max(height), permit);
    let resize = |image: DynamicImage| match (image.width(), image.height()) == size {
        true => image.into_rgba8(),
        false => image
            .resize_to_fill(width, height, FilterType::Triangle)
            .into_rgba8(),
    };
    let mask = decode(mask, inputs.len())?;
    if !mask.color().has_alpha() {
        return Err(DrawError::Mask);
    }
    let (mask, mut image) = (resize(mask), resize(decode(first, 1)?));
    for (pixel, mask) in image.pixels_mut().zip(mask.pixels()) {
        pixel.0[3] = mask.0[3];
    }
    Ok(Stencil(image))
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
