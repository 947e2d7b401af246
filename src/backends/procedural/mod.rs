//! The built-in image generator: draws from the words of the prompt, with no network and no model.
//!
//! A prompt becomes a [`scene`] plan by way of the [`lexicon`]; the plan is painted in layers with a [`palette`] that
//! suits its light; the result is textured and encoded. Everything follows from the request alone, with arithmetic that
//! every machine rounds alike, so the same request gives the same pixels everywhere.

mod canvas;
mod colour;
mod encode;
mod exact;
mod figure;
mod finish;
mod grain;
mod ink;
mod inputs;
mod lexicon;
mod paint;
mod palette;
mod reader;
mod scene;
mod seed;
mod shape;
mod studio;

#[cfg(test)]
mod tests;

use scene::Plan;
use seed::Seed;
use studio::Studio;

/// Longest side that is drawn, in pixels.
pub const MAX_SIDE: u32 = 16_384;
/// Most pixels that are drawn: a little over the largest size of any tier.
pub const MAX_PIXELS: u64 = 24_000_000;

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

/// Why nothing was drawn.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The size is zero or too large.
    #[error(
        "the built-in generator draws from 1 to {MAX_SIDE} pixels a side and {MAX_PIXELS} pixels in all, not {width}x{height}; ask for a smaller size"
    )]
    Size {
        /// Width that was asked for.
        width: u32,
        /// Height that was asked for.
        height: u32,
    },
    /// An input is in a format that is not decoded here.
    #[error(
        "input image {number} is {format}, which the built-in generator cannot decode; send PNG, JPEG, WebP or GIF"
    )]
    Format {
        /// Which input, counted from 1.
        number: usize,
        /// Name of the format.
        format: &'static str,
    },
    /// An input is damaged or not an image.
    #[error(
        "input image {number} cannot be read ({reason}); check that the file is complete and send it again as PNG, JPEG, WebP or GIF"
    )]
    Broken {
        /// Which input, counted from 1.
        number: usize,
        /// What the decoder said.
        reason: String,
    },
    /// An input would need too much memory.
    #[error(
        "input image {number} is too large to decode: the built-in generator takes at most {side} pixels a side and 256 MB unpacked; send a smaller image",
        side = MAX_SIDE
    )]
    TooLarge {
        /// Which input, counted from 1.
        number: usize,
    },
    /// The finished picture could not be encoded.
    #[error(
        "the finished picture could not be encoded as PNG: {0}; try the request again with another size"
    )]
    Encode(#[from] png::EncodingError),
}

/// Draws a picture. Takes processor time (about a tenth of a second for a megapixel): call it off the async threads.
///
/// # Errors
///
/// See [`DrawError`]; the text of each says what the caller can change.
pub fn draw(brief: &Brief<'_>) -> Result<Picture, DrawError> {
    let Brief {
        prompt,
        width,
        height,
        inputs,
    } = *brief;
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 || width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(DrawError::Size { width, height });
    }
    let photos = inputs::decode(inputs, width.max(height))?;
    let seed = Seed::of_request(prompt, inputs);
    let plan = Plan::read(prompt, &mut seed.branch(0));
    let mut studio = Studio::new(&plan, &seed, width, height);
    paint::paint(&mut studio, &photos);
    let canvas = finish::finish(studio);
    Ok(Picture {
        png: encode::png(&canvas.pixels, width, height, prompt)?,
        width,
        height,
    })
}
