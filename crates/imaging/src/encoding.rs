//! Encodes pixels with their orientation applied and with their colour profile, row by row if the format allows it.

use super::exif_block;
use super::pixels::{Image8, Pixels, Rect, on_white};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::webp::WebPEncoder;
use image::{ExtendedColorType, GenericImageView, ImageEncoder, ImageError, Rgb};
use png::{BitDepth, ColorType, Compression, Filter, Info};
use std::borrow::Cow;
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

impl From<ImageError> for EncodeError {
    fn from(error: ImageError) -> Self {
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
pub fn png(pixels: &Pixels, part: Rect, effort: PngEffort) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let mut info = Info::with_size(part.width, part.height);
    info.bit_depth = BitDepth::Eight;
    info.color_type = match pixels.has_alpha() {
        true => ColorType::Rgba,
        false => ColorType::Rgb,
    };
    info.icc_profile = pixels.profile().map(Cow::Borrowed);
    let mut encoder = png::Encoder::with_info(&mut bytes, info)?;
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

/// Encodes a part of an image as JPEG, on white. The quality is from 0 to 100. `software` is the program that the file names as
/// its maker, in ASCII.
pub fn jpeg(
    pixels: &Pixels,
    part: Rect,
    quality: u8,
    software: Option<&str>,
) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, quality.clamp(1, 100));
    set_metadata(&mut encoder, pixels, software)?;
    encoder.encode_image(&OnWhite { pixels, part })?;
    Ok(bytes)
}

/// Encodes a part of an image as lossless WebP. `software` is the program that the file names as its maker, in ASCII.
pub fn webp(pixels: &Pixels, part: Rect, software: Option<&str>) -> Result<Vec<u8>, EncodeError> {
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
    let mut encoder = WebPEncoder::new_lossless(&mut bytes);
    set_metadata(&mut encoder, pixels, software)?;
    encoder.encode(&upright, part.width, part.height, colour)?;
    Ok(bytes)
}

fn set_metadata(
    encoder: &mut impl ImageEncoder,
    pixels: &Pixels,
    software: Option<&str>,
) -> Result<(), ImageError> {
    if let Some(profile) = pixels.profile() {
        let set = encoder.set_icc_profile(profile.to_vec());
        set.map_err(ImageError::Unsupported)?;
    }
    if let Some(program) = software {
        let set = encoder.set_exif_metadata(exif_block::software(program));
        set.map_err(ImageError::Unsupported)?;
    }
    Ok(())
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

/// A part of the upright image, on white.
struct OnWhite<'a> {
    pixels: &'a Pixels,
    part: Rect,
}

impl GenericImageView for OnWhite<'_> {
    type Pixel = Rgb<u8>;

    fn dimensions(&self) -> (u32, u32) {
        (self.part.width, self.part.height)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Rgb<u8> {
        let (x, y) = self.pixels.stored(self.part.x + x, self.part.y + y);
        match self.pixels.image() {
            Image8::Rgb(image) => *image.get_pixel(x, y),
            Image8::Rgba(image) => on_white(*image.get_pixel(x, y)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::open_any;
    use crate::{DecodePermits, colour_profile};
    use image::metadata::Orientation;
    use image::{DynamicImage, RgbImage, Rgba, RgbaImage};
    use std::io::Cursor;

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
        let pixels = Pixels::new(Image8::Rgb(image), Orientation::Rotate90, None);
        for bytes in [
            png(&pixels, part, PngEffort::Fast),
            png(&pixels, part, PngEffort::Balanced),
            webp(&pixels, part, None),
        ] {
            let read = image::load_from_memory(&bytes.expect("written")).expect("an image");
            assert_eq!(read.into_rgb8(), wanted);
        }
        let jpeg = image::load_from_memory(&jpeg(&pixels, part, 95, None).expect("written"));
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
        let pixels = Pixels::upright(RgbaImage::from_pixel(4, 3, Rgba([9, 8, 7, 60])).into());
        for bytes in [
            png(&pixels, pixels.whole(), PngEffort::Fast),
            webp(&pixels, pixels.whole(), None),
        ] {
            let read = image::load_from_memory(&bytes.expect("written")).expect("an image");
            assert_eq!(read.into_rgba8().get_pixel(3, 2).0, [9, 8, 7, 60]);
        }
    }

    #[test]
    fn a_jpeg_shows_transparent_pixels_on_white() {
        for (alpha, wanted) in [
            (0, [255, 255, 255]),
            (255, [200, 0, 0]),
            (51, [244, 204, 204]),
        ] {
            let pixel = Rgba([200, 0, 0, alpha]);
            let pixels = Pixels::upright(RgbaImage::from_pixel(16, 16, pixel).into());
            let bytes = jpeg(&pixels, pixels.whole(), 100, None).expect("written");
            let read = image::load_from_memory(&bytes).expect("an image");
            let read = read.into_rgb8().get_pixel(8, 8).0;
            let far = read.iter().zip(wanted).any(|(a, b)| a.abs_diff(b) > 2);
            assert!(!far, "{alpha}: {read:?}");
        }
    }

    #[test]
    fn pixels_on_white_are_those_of_a_jpeg() {
        let image = RgbaImage::from_fn(5, 3, |x, y| Rgba([200, x as u8, 9, y as u8 * 127]));
        let on_white = OnWhite {
            pixels: &Pixels::upright(image.clone().into()),
            part: Pixels::upright(image.clone().into()).whole(),
        };
        let wanted = RgbImage::from_fn(5, 3, |x, y| on_white.get_pixel(x, y));
        let profile = Some(colour_profile::sample(b"RGB ", 300).into());
        let pixels = Pixels::new(Image8::Rgba(image), Orientation::Rotate90, profile.clone());
        let flat = pixels.on_white();
        assert!(!flat.has_alpha());
        assert_eq!((flat.width(), flat.height()), (3, 5));
        assert_eq!(flat.profile(), profile.as_deref());
        assert_eq!(flat.into_stored().into_rgb8(), wanted);
    }

    #[test]
    fn the_quality_of_a_jpeg_determines_its_size() {
        let image = RgbImage::from_fn(64, 64, |x, y| Rgb([(x * y) as u8, (x ^ y) as u8, 7]));
        let pixels = Pixels::upright(image.into());
        let size = |quality| {
            let bytes = jpeg(&pixels, pixels.whole(), quality, None).expect("written");
            image::load_from_memory(&bytes).expect("an image");
            bytes.len()
        };
        let sizes = [0, 30, 80, 100].map(size);
        assert!(sizes.is_sorted() && sizes[0] < sizes[3], "{sizes:?}");
        assert_eq!(size(255), size(100));
    }

    #[test]
    fn the_colour_profile_survives_decoding_and_encoding_in_every_format() {
        let profile = colour_profile::sample(b"RGB ", 3_000);
        let image = Image8::Rgba(RgbaImage::new(20, 10));
        let profiled = Some(profile.clone().into());
        let pixels = Pixels::new(image, Orientation::Rotate90, profiled).shrunk(10);
        let part = pixels.whole();
        for bytes in [
            png(&pixels, part, PngEffort::Fast),
            jpeg(&pixels, part, 90, Some("a program")),
            webp(&pixels, part, None),
        ] {
            let bytes = bytes.expect("written");
            let read = DecodePermits::unshared(|permit| open_any(permit, &bytes)?.decode(8));
            let read = read
                .expect("decoded")
                .map(|image| image.crop_imm(0, 0, 2, 2));
            assert_eq!(read.profile(), Some(&profile[..]));
        }
    }

    #[test]
    fn a_file_names_its_program() {
        let pixels = Pixels::upright(RgbImage::new(16, 16).into());
        let program = Some("a program, version 1");
        for bytes in [
            jpeg(&pixels, pixels.whole(), 90, program),
            webp(&pixels, pixels.whole(), program),
        ] {
            let bytes = bytes.expect("written");
            image::load_from_memory(&bytes).expect("an image");
            let exif = ::exif::Reader::new().read_from_container(&mut Cursor::new(bytes));
            let exif = exif.expect("an Exif block");
            let field = exif.get_field(::exif::Tag::Software, ::exif::In::PRIMARY);
            let value = field.expect("the field").display_value().to_string();
            assert_eq!(value, "\"a program, version 1\"");
        }
    }
}
