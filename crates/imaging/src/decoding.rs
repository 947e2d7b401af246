//! Decodes images to 8 bits per channel, within limits. Reads a PNG row by row, so that shrinking or checking it holds only a few
//! rows.

use super::colour_profile;
use super::decode_permits::DecodePermit;
use super::image_header::HeaderReader;
use super::kind::ImageKind;
use super::pixels::{Image8, Pixels, upright};
use super::shrink::Shrink;
use super::size::MAX_SIDE;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use png::{ColorType, DecodingError, Transformations};
use std::io::Cursor;

/// The largest published size has 19 million.
pub const MAX_PIXELS: u64 = 64_000_000;
/// The memory limit of decoders other than PNG: [`MAX_PIXELS`] of four channels of 16 bits.
const MAX_ALLOC: u64 = MAX_PIXELS * 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The file is damaged, or not an image.
    Damaged,
    /// Decoding would take too much memory.
    TooLarge,
}

impl From<ImageError> for DecodeError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Limits(_) => Self::TooLarge,
            _ => Self::Damaged,
        }
    }
}

impl From<DecodingError> for DecodeError {
    fn from(error: DecodingError) -> Self {
        match error {
            DecodingError::LimitsExceeded => Self::TooLarge,
            _ => Self::Damaged,
        }
    }
}

/// An image of which only the header has been read.
pub struct OpenedImage<'a> {
    source: Source<'a>,
    width: u32,
    height: u32,
    /// Makes the image upright.
    pub orientation: Orientation,
}

enum Source<'a> {
    /// With the whole file, for its colour profile.
    Rows(Box<png::Reader<Cursor<&'a [u8]>>>, &'a [u8]),
    Whole(Box<dyn ImageDecoder + 'a>),
}

/// The result of checking all pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Are all pixels equal?
    pub single_colour: bool,
}

/// Checks that no frame is larger than the image. The decoders of these formats allocate memory for a frame, and ignore their limits.
fn check_frames(bytes: &[u8], format: ImageFormat) -> Result<(), DecodeError> {
    let kind = match format {
        ImageFormat::WebP => ImageKind::WebP,
        ImageFormat::Gif => ImageKind::Gif,
        _ => return Ok(()),
    };
    let mut header = HeaderReader::new(kind);
    header.push(bytes).map_err(|_| DecodeError::Damaged)
}

/// Reads the header of an image.
///
/// # Errors
/// The image cannot be decoded within the limits.
pub fn open<'a>(
    _: &DecodePermit,
    bytes: &'a [u8],
    format: ImageFormat,
) -> Result<OpenedImage<'a>, DecodeError> {
    check_frames(bytes, format)?;
    let opened = match format {
        ImageFormat::Png => open_png(bytes)?,
        _ => open_other(bytes, format)?,
    };
    let pixels = u64::from(opened.width) * u64::from(opened.height);
    // Decoders may ignore their limits.
    if opened.width.max(opened.height) > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(DecodeError::TooLarge);
    }
    if pixels == 0 {
        return Err(DecodeError::Damaged);
    }
    Ok(opened)
}

/// Reads the header of an image of any known format.
pub fn open_any<'a>(
    permit: &DecodePermit,
    bytes: &'a [u8],
) -> Result<OpenedImage<'a>, DecodeError> {
    open(permit, bytes, image::guess_format(bytes)?)
}

fn open_png(bytes: &[u8]) -> Result<OpenedImage<'_>, DecodeError> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8());
    // Compressed texts and profiles may decompress to any length. Texts are not used, and `colour_profile` reads the profile.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let reader = decoder.read_info()?;
    let info = reader.info();
    let exif = info.exif_metadata.as_deref();
    Ok(OpenedImage {
        width: info.width,
        height: info.height,
        orientation: exif
            .and_then(Orientation::from_exif_chunk)
            .unwrap_or(Orientation::NoTransforms),
        source: Source::Rows(Box::new(reader), bytes),
    })
}

fn open_other(bytes: &[u8], format: ImageFormat) -> Result<OpenedImage<'_>, DecodeError> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOC);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    let (width, height) = decoder.dimensions();
    if decoder.total_bytes() > MAX_ALLOC {
        return Err(DecodeError::TooLarge);
    }
    Ok(OpenedImage {
        width,
        height,
        orientation: decoder.orientation().unwrap_or(Orientation::NoTransforms),
        source: Source::Whole(Box::new(decoder)),
    })
}

impl OpenedImage<'_> {
    /// Width and height before the orientation is applied.
    pub fn dimensions(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Width and height after the orientation is applied.
    pub fn upright_dimensions(&self) -> (u32, u32) {
        upright(self.dimensions(), self.orientation)
    }

    /// May pixels be transparent?
    pub fn has_alpha(&self) -> bool {
        match &self.source {
            Source::Rows(reader, _) => channels(reader) == 4,
            Source::Whole(decoder) => decoder.color_type().has_alpha(),
        }
    }

    /// Decodes the first frame, and shrinks it until neither side is longer than `longest`. Keeps the colour profile if it is one of RGB.
    ///
    /// # Errors
    /// The data is damaged, or larger than the header says.
    pub fn decode(self, longest: u32) -> Result<Pixels, DecodeError> {
        let (width, height) = self.dimensions();
        let (image, profile) = match self.source {
            Source::Whole(mut decoder) => {
                let profile = decoder.icc_profile().ok().flatten();
                let whole = Image8::from(DynamicImage::from_decoder(decoder)?);
                let image = match width.max(height) > longest {
                    true => whole.shrunk(longest),
                    false => whole,
                };
                (image, profile.and_then(colour_profile::of_rgb))
            }
            Source::Rows(reader, bytes) => {
                let channels = channels(&reader);
                let mut shrink = Shrink::new((width, height), longest, channels);
                each_row(*reader, |row| shrink.push(row))?;
                let image = Image8::from_raw(shrink.finish());
                (image, colour_profile::of_png(bytes))
            }
        };
        Ok(Pixels::new(image, self.orientation, profile))
    }

    /// Decodes all pixels, and holds no more of them than the format requires.
    ///
    /// # Errors
    /// The data is damaged, or larger than the header says.
    pub fn inspect(self) -> Result<Inspection, DecodeError> {
        let mut first: Option<[u8; 4]> = None;
        let mut single_colour = true;
        let mut check = |row: &[u8], channels: usize| {
            for pixel in row.chunks_exact(channels) {
                let mut own = [0; 4];
                own[..channels].copy_from_slice(pixel);
                single_colour &= *first.get_or_insert(own) == own;
                if !single_colour {
                    return;
                }
            }
        };
        match self.source {
            Source::Rows(reader, _) => {
                let channels = channels(&reader);
                each_row(*reader, |row| check(row, channels))?;
            }
            Source::Whole(decoder) => {
                let image = Image8::from(DynamicImage::from_decoder(decoder)?);
                check(image.as_raw(), image.channels());
            }
        }
        Ok(Inspection { single_colour })
    }
}

/// The number of channels after [`each_row`] has expanded grey.
fn channels(reader: &png::Reader<Cursor<&[u8]>>) -> usize {
    match reader.output_color_type().0 {
        ColorType::GrayscaleAlpha | ColorType::Rgba => 4,
        _ => 3,
    }
}

/// Passes on every row of a PNG from the top, as RGB or RGBA of 8 bits.
fn each_row(
    mut reader: png::Reader<Cursor<&[u8]>>,
    mut take: impl FnMut(&[u8]),
) -> Result<(), DecodeError> {
    let colour = reader.output_color_type().0;
    let mut wide = Vec::new();
    let mut pass = |row: &[u8]| match colour {
        ColorType::Grayscale => {
            wide.clear();
            wide.extend(row.iter().flat_map(|grey| [*grey; 3]));
            take(&wide);
        }
        ColorType::GrayscaleAlpha => {
            wide.clear();
            let pairs = row.chunks_exact(2);
            wide.extend(pairs.flat_map(|it| [it[0], it[0], it[0], it[1]]));
            take(&wide);
        }
        _ => take(row),
    };
    if !reader.info().interlaced {
        while let Some(row) = reader.next_row()? {
            pass(row.data());
        }
        return Ok(());
    }
    // An interlaced image has its rows in seven passes.
    let size = reader.output_buffer_size().ok_or(DecodeError::TooLarge)?;
    let mut whole = vec![0; size];
    let frame = reader.next_frame(&mut whole)?;
    whole.chunks_exact(frame.line_size).for_each(pass);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::DecodePermits;
    use super::*;
    use image::{GrayAlphaImage, ImageBuffer, LumaA, Rgba};

    fn written(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.into().write_to(&mut bytes, format).expect("written");
        bytes.into_inner()
    }

    fn noisy() -> DynamicImage {
        let pixels = ImageBuffer::from_fn(40, 30, |x, y| {
            Rgba([x * 1_600, y * 2_000, (x ^ y) * 900, 65_535 - x * 700].map(|it| it as u16))
        });
        DynamicImage::ImageRgba16(pixels)
    }

    #[test]
    fn a_png_read_by_rows_has_the_pixels_of_one_read_whole() {
        let grey = GrayAlphaImage::from_fn(9, 7, |x, y| LumaA([(x * 20) as u8, (y * 30) as u8]));
        let images: [DynamicImage; 4] = [
            noisy(),
            noisy().into_rgb8().into(),
            noisy().into_luma8().into(),
            grey.into(),
        ];
        for image in images {
            let bytes = written(image, ImageFormat::Png);
            let whole = image::load_from_memory(&bytes).expect("an image");
            let read = DecodePermits::unshared(|permit| open_any(permit, &bytes)?.decode(u32::MAX));
            let read = read.expect("decoded").into_stored();
            assert_eq!(read.color().has_alpha(), whole.color().has_alpha());
            let far = read.to_rgba8().iter().zip(whole.to_rgba8().iter()).any(
                // This crate truncates 16 bits to 8, and `image` rounds them.
                |(a, b)| a.abs_diff(*b) > 1,
            );
            assert!(!far, "{:?}", whole.color());
        }
    }

    #[test]
    fn a_truncated_image_is_damaged_for_decode_and_inspect() {
        for format in [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Gif] {
            let bytes = written(noisy().into_rgba8(), format);
            let half = &bytes[..bytes.len() / 2];
            DecodePermits::unshared(|permit| {
                let decoded = open_any(permit, half).and_then(|it| it.decode(8));
                assert_eq!(decoded.err(), Some(DecodeError::Damaged), "{format:?}");
                let inspected = open_any(permit, half).and_then(OpenedImage::inspect);
                assert_eq!(inspected.err(), Some(DecodeError::Damaged), "{format:?}");
            });
        }
    }

    #[test]
    fn a_single_colour_is_detected_in_every_pixel_format() {
        let mut nearly = image::RgbImage::new(9, 9);
        nearly.put_pixel(8, 8, image::Rgb([0, 0, 1]));
        let images = [
            (DynamicImage::new_rgb8(9, 9), true),
            (DynamicImage::new_luma8(9, 9), true),
            (DynamicImage::new_rgba16(9, 9), true),
            (nearly.into(), false),
        ];
        for (image, single_colour) in images {
            let bytes = written(image, ImageFormat::Png);
            let inspected = DecodePermits::unshared(|permit| open_any(permit, &bytes)?.inspect());
            assert_eq!(inspected, Ok(Inspection { single_colour }));
        }
    }

    #[test]
    fn an_image_with_too_many_decoded_bytes_is_rejected_early() {
        // A flat GIF of 10,000 x 10,000 is small, and has 400 MB of pixels.
        let screen = [0x10, 0x27, 0x10, 0x27, 0, 0, 0];
        let frame = [
            0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0x80, 0, 0, 0, 9, 9, 9, 2, 2, 0x44, 1, 0, 0x3b,
        ];
        let gif = [&b"GIF89a"[..], &screen, &frame].concat();
        DecodePermits::unshared(|permit| {
            let opened = open(permit, &gif, ImageFormat::Gif);
            assert_eq!(opened.err(), Some(DecodeError::TooLarge));
            // A screen of 1 x 1 with a frame of 257 x 257.
            let mut large = gif.clone();
            large[6..10].copy_from_slice(&[1, 0, 1, 0]);
            large[18..22].fill(1);
            let opened = open(permit, &large, ImageFormat::Gif);
            assert_eq!(opened.err(), Some(DecodeError::Damaged));
            let text = open_any(permit, b"<html>");
            assert_eq!(text.err(), Some(DecodeError::Damaged));
        });
    }
}
