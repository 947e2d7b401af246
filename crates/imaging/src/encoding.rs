//! Encodes pixels with their orientation applied, row by row if the format allows it.

use super::pixels::{Image8, Pixels, Rect};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, GenericImageView, Pixel as _, Rgb};
use png::{BitDepth, ColorType, Compression, Filter};
use std::io::Write as _;

/// An image that has too many pixels for the format, or none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodeError(String);

impl From<png::EncodingError> for EncodeError {
    fn from(error: png::EncodingError) -> Self {
        Self(error.to_string())
    }
}

impl From<image::ImageError> for EncodeError {
    fn from(error: image::ImageError) -> Self {
        Self(error.to_string())
    }
}

/// The compression effort for a PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PngEffort {
    /// Fast, but a large file.
    Fast,
    /// Small enough to send.
    Balanced,
}

/// Encodes a part of an image as PNG.
///
/// # Errors
/// See [`EncodeError`].
pub fn png(pixels: &Pixels, part: Rect, effort: PngEffort) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, part.width, part.height);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_color(match pixels.has_alpha() {
        true => ColorType::Rgba,
        false => ColorType::Rgb,
    });
    encoder.set_compression(match effort {
        PngEffort::Fast => Compression::Fast,
        PngEffort::Balanced => Compression::Balanced,
    });
    encoder.set_filter(Filter::Adaptive);
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    each_row(pixels, part, |row| {
        stream.write_all(row).map_err(png::EncodingError::from)
    })?;
    stream.finish()?;
    writer.finish()?;
    Ok(bytes)
}

/// Encodes a part of an image as JPEG. Transparent pixels show their colour.
///
/// # Errors
/// See [`EncodeError`].
pub fn jpeg(pixels: &Pixels, part: Rect, quality: u8) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&Opaque { pixels, part })?;
    Ok(bytes)
}

/// Encodes a part of an image as lossless WebP.
///
/// # Errors
/// See [`EncodeError`].
pub fn webp(pixels: &Pixels, part: Rect) -> Result<Vec<u8>, EncodeError> {
    let mut upright = Vec::new();
    each_row(pixels, part, |row| {
        upright.extend_from_slice(row);
        Ok::<(), EncodeError>(())
    })?;
    let colour = match pixels.has_alpha() {
        true => ExtendedColorType::Rgba8,
        false => ExtendedColorType::Rgb8,
    };
    let mut bytes = Vec::new();
    WebPEncoder::new_lossless(&mut bytes).encode(&upright, part.width, part.height, colour)?;
    Ok(bytes)
}

/// Passes on the rows of a part of the upright image.
pub(crate) fn each_row<E>(
    pixels: &Pixels,
    part: Rect,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut row = Vec::with_capacity(part.width as usize * pixels.image().channels());
    for y in part.y..part.y + part.height {
        row.clear();
        for x in part.x..part.x + part.width {
            let (x, y) = pixels.stored(x, y);
            match pixels.image() {
                Image8::Rgb(image) => row.extend_from_slice(&image.get_pixel(x, y).0),
                Image8::Rgba(image) => row.extend_from_slice(&image.get_pixel(x, y).0),
            }
        }
        take(&row)?;
    }
    Ok(())
}

/// A part of the upright image, without its alpha channel.
struct Opaque<'a> {
    pixels: &'a Pixels,
    part: Rect,
}

impl GenericImageView for Opaque<'_> {
    type Pixel = Rgb<u8>;

    fn dimensions(&self) -> (u32, u32) {
        (self.part.width, self.part.height)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Rgb<u8> {
        let (x, y) = self.pixels.stored(self.part.x + x, self.part.y + y);
        match self.pixels.image() {
            Image8::Rgb(image) => *image.get_pixel(x, y),
            Image8::Rgba(image) => image.get_pixel(x, y).to_rgb(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::metadata::Orientation;
    use image::{DynamicImage, RgbImage, RgbaImage};

    #[test]
    fn a_part_is_written_upright_in_every_format() {
        let image = RgbImage::from_fn(60, 40, |x, y| Rgb([x as u8 * 4, y as u8 * 6, 7]));
        let mut turned = DynamicImage::from(image.clone());
        turned.apply_orientation(Orientation::Rotate90);
        let part = Rect {
            x: 10,
            y: 5,
            width: 24,
            height: 50,
        };
        let wanted = turned.crop_imm(10, 5, 24, 50).into_rgb8();
        let pixels = Pixels::new(Image8::Rgb(image), Orientation::Rotate90);
        for bytes in [
            png(&pixels, part, PngEffort::Fast),
            png(&pixels, part, PngEffort::Balanced),
            webp(&pixels, part),
        ] {
            let read = image::load_from_memory(&bytes.expect("written")).expect("an image");
            assert_eq!(read.into_rgb8(), wanted);
        }
        let jpeg = image::load_from_memory(&jpeg(&pixels, part, 95).expect("written"));
        let jpeg = jpeg.expect("an image").into_rgb8();
        assert_eq!(jpeg.dimensions(), wanted.dimensions());
        let far = jpeg
            .iter()
            .zip(wanted.iter())
            .any(|(a, b)| a.abs_diff(*b) > 24);
        assert!(!far);
    }

    #[test]
    fn transparency_is_preserved_if_the_format_supports_it() {
        let pixels =
            Pixels::upright(RgbaImage::from_pixel(4, 3, image::Rgba([9, 8, 7, 60])).into());
        for bytes in [
            png(&pixels, pixels.whole(), PngEffort::Fast),
            webp(&pixels, pixels.whole()),
        ] {
            let read = image::load_from_memory(&bytes.expect("written")).expect("an image");
            assert_eq!(read.into_rgba8().get_pixel(3, 2).0, [9, 8, 7, 60]);
        }
    }
}
