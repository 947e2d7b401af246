//! Decodes input images within limits, makes them upright, and shrinks them early.

use std::io::Cursor;

use bytes::Bytes;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits, RgbImage};

use tintype_imaging::decoding::check_frames;
use tintype_imaging::{DecodeError, DecodePermit};

use super::error::{DrawError, MAX_SIDE};

/// The memory limit of the decoder, per image.
const MAX_ALLOC: u64 = 256 * 1024 * 1024;
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
        .map(|(i, bytes)| decode_one(bytes, i + 1, side, permit))
        .collect()
}

fn decode_one(
    bytes: &[u8],
    number: usize,
    side: u32,
    permit: &DecodePermit,
) -> Result<RgbImage, DrawError> {
    let format = decodable_format(bytes, number)?;
    let damaged = |reason: &str| DrawError::Broken {
        number,
        reason: reason.to_owned(),
    };
    check_frames(bytes, format).map_err(|_| damaged("it is damaged"))?;
    let broken = |error| to_draw_error(error, number);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_ALLOC);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if width > MAX_SIDE || height > MAX_SIDE || decoder.total_bytes() > MAX_ALLOC {
        return Err(DrawError::TooLarge { number });
    }
    if width == 0 || height == 0 {
        return Err(damaged("it has no pixels"));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = match format {
        // Row by row: a whole image of 16 bits per channel would take hundreds of megabytes.
        ImageFormat::Png if width.max(height) > side => {
            tintype_imaging::open(permit, bytes, format)
                .and_then(|opened| opened.decode(side))
                .map_err(|error| match error {
                    DecodeError::TooLarge => DrawError::TooLarge { number },
                    DecodeError::Damaged => damaged("it is damaged"),
                })?
                .into_stored()
        }
        _ => DynamicImage::from_decoder(decoder).map_err(broken)?,
    };
    let mut small = if image.width().max(image.height()) > side {
        image.thumbnail(side, side)
    } else {
        image
    };
    small.apply_orientation(orientation);
    Ok(on_paper(&small))
}

fn decodable_format(bytes: &[u8], number: usize) -> Result<ImageFormat, DrawError> {
    use ImageFormat::{Gif, Jpeg, Png, WebP};
    let other = |format| DrawError::Format { number, format };
    if let Some(format) = undecodable(bytes) {
        return Err(other(format));
    }
    match image::guess_format(bytes).map_err(|error| to_draw_error(error, number))? {
        format @ (Png | Jpeg | WebP | Gif) => Ok(format),
        _ => Err(other("in another format")),
    }
}

fn to_draw_error(error: ImageError, number: usize) -> DrawError {
    match error {
        ImageError::Limits(_) => DrawError::TooLarge { number },
        other => DrawError::Broken {
            number,
            reason: other.to_string(),
        },
    }
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

/// Recognises formats that the service accepts and this generator cannot decode.
fn undecodable(bytes: &[u8]) -> Option<&'static str> {
    if bytes.get(4..8)? != b"ftyp" {
        return None;
    }
    match bytes.get(8..12)? {
        b"avif" | b"avis" => Some("AVIF"),
        _ => Some("HEIC"),
    }
}
