//! A procedural image generator without an AI model: draws from the words of the prompt.
//!
//! The [`lexicon`] turns a prompt into a [`scene`] plan. The generator paints the plan in layers, with a [`palette`] that fits its light,
//! then textures and encodes the result. The image depends only on the request, and all machines round the arithmetic alike, so equal
//! requests give equal pixels everywhere.

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
mod stencil;
mod studio;
mod swatches;

#[cfg(test)]
mod tests;

pub use encode::MAKER;
pub use error::{DrawError, MAX_PIXELS};

use image::RgbImage;
use seed::Seed;
use stencil::Stencil;
use studio::Studio;
use tintype_imaging::{DecodePermit, DecodePermits, MAX_SIDE};

/// A request to the generator.
#[derive(Debug, Clone, Copy)]
pub struct DrawRequest<'a> {
    /// In any script.
    pub prompt: &'a str,
    pub width: u32,
    pub height: u32,
    /// Encoded input images (PNG, JPEG, WebP or GIF). Empty for text-to-image.
    pub inputs: &'a [bytes::Bytes],
    /// The last input is a mask: where it is opaque, the first one stays.
    pub has_mask: bool,
}

/// A generated image.
#[derive(Debug, Clone)]
pub struct Image {
    /// The encoded PNG.
    pub png: Vec<u8>,
    pub width: u32,
    pub height: u32,
}

/// Decoded and shrunk input images.
#[derive(Debug)]
pub struct Photos {
    images: Vec<RgbImage>,
    stencil: Option<Stencil>,
}

/// Draws an image. Takes CPU time (about a tenth of a second per megapixel), so call it off the async threads.
///
/// # Errors
///
/// See [`DrawError`]. The texts say what the caller can change.
pub fn draw(request: &DrawRequest<'_>) -> Result<Image, DrawError> {
    let photos = DecodePermits::unshared(|permit| decode_inputs(request, permit))?;
    draw_with(request, &photos)
}

/// Decodes the input images, one after the other. This step of [`draw`] needs the most memory, up to 256 MB.
///
/// # Errors
///
/// The size is invalid, or an input cannot be used.
pub fn decode_inputs(
    request: &DrawRequest<'_>,
    permit: &DecodePermit,
) -> Result<Photos, DrawError> {
    let (width, height) = (request.width, request.height);
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 || width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(DrawError::Size { width, height });
    }
    let (images, stencil) = match (request.has_mask, request.inputs) {
        (true, [images @ .., _]) => {
            let stencil = stencil::decode(request.inputs, (width, height), permit)?;
            (images, Some(stencil))
        }
        (_, images) => (images, None),
    };
    Ok(Photos {
        images: inputs::decode(images, width.max(height), permit)?,
        stencil,
    })
}

/// Draws an image from inputs that [`decode_inputs`] has decoded.
///
/// # Errors
///
/// The image cannot be encoded.
pub fn draw_with(request: &DrawRequest<'_>, photos: &Photos) -> Result<Image, DrawError> {
    let DrawRequest {
        prompt,
        width,
        height,
        inputs,
        has_mask: _,
    } = *request;
    let seed = Seed::of_request(prompt, inputs);
    let plan = reader::read(prompt, &mut seed.branch(0));
    let mut studio = Studio::new(&plan, &seed, width, height);
    paint::paint(&mut studio, &photos.images);
    let mut canvas = finish::finish(studio);
    if let Some(stencil) = &photos.stencil {
        stencil.cover(&mut canvas.pixels);
    }
    Ok(Image {
        png: encode::png(&canvas.pixels, width, height, prompt)?,
        width,
        height,
    })
}
