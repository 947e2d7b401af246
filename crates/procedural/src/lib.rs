//! A painter without a model: draws from the words of the prompt.
//!
//! A prompt becomes a [`scene`] plan by way of the [`lexicon`]; the plan is painted in layers with a [`palette`] that
//! suits its light; the result is textured and encoded. Everything follows from the request alone, with arithmetic that
//! every machine rounds alike, so the same request gives the same pixels everywhere.

mod canvas;
mod colour;
mod encode;
mod error;
mod exact;
mod figure;
mod fill;
mod finish;
mod grain;
mod inputs;
mod lexicon;
mod paint;
mod palette;
mod reader;
mod scene;
mod seed;
mod shape;
mod studio;
mod swatches;

#[cfg(test)]
mod tests;

pub use error::{DrawError, MAX_PIXELS, MAX_SIDE};

use image::RgbImage;
use seed::Seed;
use studio::Studio;
use tintype_imaging::{DecodePermit, DecodePermits};

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// What the caller asked for, in any script.
    pub prompt: &'a str,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Encoded input images (PNG, JPEG, WebP or GIF); none for text-to-image.
    pub inputs: &'a [bytes::Bytes],
}

/// A finished picture.
#[derive(Debug, Clone)]
pub struct Picture {
    /// The encoded PNG.
    pub png: Vec<u8>,
    /// Width in pixels, as asked.
    pub width: u32,
    /// Height in pixels, as asked.
    pub height: u32,
}

/// Input images, decoded and made small.
#[derive(Debug)]
pub struct Photos(Vec<RgbImage>);

/// Draws a picture. Takes processor time (about a tenth of a second for a megapixel): call it off the async threads.
///
/// # Errors
///
/// See [`DrawError`]; the text of each says what the caller can change.
pub fn draw(brief: &Brief<'_>) -> Result<Picture, DrawError> {
    let photos = DecodePermits::unshared(|permit| decode_inputs(brief, permit))?;
    draw_with(brief, &photos)
}

/// Decodes the input images, one after the other: the step of [`draw`] that takes memory, up to 256 MB.
///
/// # Errors
///
/// The size, or the first input that cannot be used.
pub fn decode_inputs(brief: &Brief<'_>, permit: &DecodePermit) -> Result<Photos, DrawError> {
    let (width, height) = (brief.width, brief.height);
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 || width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(DrawError::Size { width, height });
    }
    inputs::decode(brief.inputs, width.max(height), permit).map(Photos)
}

/// Draws a picture from inputs that [`decode_inputs`] has decoded for it.
///
/// # Errors
///
/// The picture cannot be encoded.
pub fn draw_with(brief: &Brief<'_>, photos: &Photos) -> Result<Picture, DrawError> {
    let Brief {
        prompt,
        width,
        height,
        inputs,
    } = *brief;
    let seed = Seed::of_request(prompt, inputs);
    let plan = reader::read(prompt, &mut seed.branch(0));
    let mut studio = Studio::new(&plan, &seed, width, height);
    paint::paint(&mut studio, &photos.0);
    let canvas = finish::finish(studio);
    Ok(Picture {
        png: encode::png(&canvas.pixels, width, height, prompt)?,
        width,
        height,
    })
}
