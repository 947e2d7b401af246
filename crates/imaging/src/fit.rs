//! Converts an image to a file that its receiver accepts. Does not change files that the receiver already accepts.

use super::decode_permits::DecodePermit;
use super::decoding::{DecodeError, open, open_any};
use super::encoding::{self, EncodeError, PngEffort};
use super::kind::ImageKind;
use super::pixels::Pixels;
use bytes::Bytes;
use image::imageops::FilterType;
use image::metadata::Orientation;

/// The longest side after the first shrinking. Models use less.
const FIRST_SIDE: u32 = 3_072;
/// Images are not shrunk below this.
const LAST_SIDE: u32 = 256;
const JPEG_QUALITY: u8 = 92;

/// The files that a receiver accepts.
#[derive(Clone, Copy, Debug)]
pub struct Accepts {
    pub kinds: &'static [ImageKind],
    /// Of a file.
    pub max_bytes: usize,
}

/// A file that its receiver accepts.
#[derive(Clone, Debug)]
pub struct FittedImage {
    pub bytes: Bytes,
    pub kind: ImageKind,
}

/// Why an image cannot be converted for its receiver.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Neither the receiver nor this crate decodes the format.
    Format(&'static str),
    /// The file is too large, and this crate does not decode the format.
    Unshrinkable(&'static str),
    Damaged,
    /// Decoding would take too much memory, or the file is too large at every size.
    TooLarge,
}

impl From<DecodeError> for Unfit {
    fn from(fault: DecodeError) -> Self {
        match fault {
            DecodeError::Damaged => Self::Damaged,
            DecodeError::TooLarge => Self::TooLarge,
        }
    }
}

/// Converts an image for its receiver, and makes it upright: few receivers apply the Exif orientation.
pub fn fit(
    permit: &DecodePermit,
    bytes: Bytes,
    kind: Option<ImageKind>,
    accepts: Accepts,
) -> Result<FittedImage, Unfit> {
    let kind = kind.ok_or(Unfit::Damaged)?;
    let is_small = bytes.len() <= accepts.max_bytes;
    let is_accepted = accepts.kinds.contains(&kind);
    let Some(format) = kind.decodable() else {
        return match (is_accepted, is_small) {
            (true, true) => Ok(FittedImage { bytes, kind }),
            (true, false) => Err(Unfit::Unshrinkable(kind.name())),
            (false, _) => Err(Unfit::Format(kind.name())),
        };
    };
    let opened = open(permit, &bytes, format)?;
    if is_accepted && is_small && opened.orientation == Orientation::NoTransforms {
        drop(opened);
        return Ok(FittedImage { bytes, kind });
    }
    let (width, height) = opened.dimensions();
    let raw_bytes = u64::from(width) * u64::from(height) * 4;
    let longest = match raw_bytes > accepts.max_bytes as u64 {
        true => FIRST_SIDE,
        false => u32::MAX,
    };
    let pixels = opened.decode(longest)?;
    drop(bytes);
    encode(&pixels, accepts)
}

/// Gives a mask the size of its image, which may have been shrunk. Both are upright.
///
/// # Errors
/// `Damaged` or `TooLarge`.
pub fn fit_mask(
    permit: &DecodePermit,
    mask: FittedImage,
    image: &[u8],
) -> Result<FittedImage, Unfit> {
    let (width, height) = open_any(permit, image)?.dimensions();
    let opened = open_any(permit, &mask.bytes)?;
    if opened.dimensions() == (width, height) {
        drop(opened);
        return Ok(mask);
    }
    let pixels = opened.decode(u32::MAX)?.into_stored();
    // The nearest pixel, because a filter would make the edges half transparent.
    let fitted = Pixels::upright(pixels.resize_exact(width, height, FilterType::Nearest));
    let bytes = encode_as(&fitted, ImageKind::Png).map_err(|_| Unfit::Damaged)?;
    Ok(FittedImage {
        bytes: bytes.into(),
        kind: ImageKind::Png,
    })
}

/// Encodes as PNG if that fits, because it is lossless, or else as JPEG. A transparent image stays PNG, at a smaller size.
fn encode(pixels: &Pixels, accepts: Accepts) -> Result<FittedImage, Unfit> {
    let transparent = pixels.has_alpha() && accepts.kinds.contains(&ImageKind::Png);
    let candidates = match transparent {
        true => &[ImageKind::Png][..],
        false => &[ImageKind::Png, ImageKind::Jpeg][..],
    };
    let longest = pixels.width().max(pixels.height());
    let mut side = longest;
    while side >= LAST_SIDE.min(longest) {
        let smaller = (side < longest).then(|| pixels.shrunk(side));
        let scaled = smaller.as_ref().unwrap_or(pixels);
        for kind in candidates.iter().filter(|it| accepts.kinds.contains(it)) {
            let bytes = encode_as(scaled, *kind).map_err(|_| Unfit::Damaged)?;
            if bytes.len() <= accepts.max_bytes {
                return Ok(FittedImage {
                    bytes: bytes.into(),
                    kind: *kind,
                });
            }
        }
        side = side * 2 / 3;
    }
    Err(Unfit::TooLarge)
}

fn encode_as(pixels: &Pixels, kind: ImageKind) -> Result<Vec<u8>, EncodeError> {
    match kind {
        ImageKind::Jpeg => encoding::jpeg(pixels, pixels.whole(), JPEG_QUALITY, None),
        _ => encoding::png(pixels, pixels.whole(), PngEffort::Balanced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DecodePermits;
    use image::codecs::jpeg::JpegEncoder;
    use image::{DynamicImage, ImageDecoder as _, ImageEncoder as _, ImageFormat, ImageReader};
    use image::{Rgb, RgbImage, Rgba, RgbaImage};
    use std::io::Cursor;

    const ACCEPTS: Accepts = Accepts {
        kinds: &[ImageKind::Png, ImageKind::Jpeg],
        max_bytes: 200_000,
    };

    fn file(image: impl Into<DynamicImage>, format: ImageFormat) -> Bytes {
        let mut bytes = Vec::new();
        let image: DynamicImage = image.into();
        image
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes.into()
    }

    /// Noise does not compress.
    fn noise(side: u32) -> RgbImage {
        RgbImage::from_fn(side, side, |x, y| {
            let mut v = (x * 7_919 + y * 104_729).wrapping_mul(2_654_435_761);
            v ^= v >> 13;
            Rgb([v as u8, (v >> 8) as u8, (v >> 16) as u8])
        })
    }

    fn fitted(bytes: Bytes, accepts: Accepts) -> Result<FittedImage, Unfit> {
        let kind = ImageKind::from_bytes(&bytes);
        DecodePermits::unshared(|permit| fit(permit, bytes, kind, accepts))
    }

    #[test]
    fn an_accepted_file_does_not_change() {
        let png = file(noise(64), ImageFormat::Png);
        let input = fitted(png.clone(), ACCEPTS).unwrap();
        assert_eq!((input.bytes, input.kind), (png, ImageKind::Png));
    }

    #[test]
    fn a_refused_format_is_converted() {
        let gif = file(
            RgbaImage::from_pixel(8, 6, Rgba([1, 2, 3, 255])),
            ImageFormat::Gif,
        );
        let input = fitted(gif, ACCEPTS).unwrap();
        let read = image::load_from_memory(&input.bytes).unwrap();
        assert_eq!(input.kind, ImageKind::Png);
        assert_eq!((read.width(), read.height()), (8, 6));
    }

    #[test]
    fn a_file_that_is_too_large_is_shrunk_with_the_same_aspect_ratio() {
        let png = file(noise(900), ImageFormat::Png);
        assert!(png.len() > ACCEPTS.max_bytes);
        let input = fitted(png, ACCEPTS).unwrap();
        assert!(input.bytes.len() <= ACCEPTS.max_bytes);
        let read = image::load_from_memory(&input.bytes).unwrap();
        assert_eq!(read.width(), read.height());
    }

    #[test]
    fn a_converted_photo_keeps_its_colour_profile() {
        let mut profile = vec![7; 600];
        profile[16..20].copy_from_slice(b"RGB ");
        profile[36..40].copy_from_slice(b"acsp");
        let mut jpeg = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut jpeg, 100);
        encoder.set_icc_profile(profile.clone()).unwrap();
        noise(500).write_with_encoder(encoder).unwrap();
        let only_png = Accepts {
            kinds: &[ImageKind::Png],
            max_bytes: 400_000,
        };
        for accepts in [ACCEPTS, only_png] {
            let input = fitted(jpeg.clone().into(), accepts).unwrap();
            assert_ne!(input.bytes, jpeg);
            let reader = ImageReader::new(Cursor::new(input.bytes));
            let decoder = reader.with_guessed_format().unwrap().into_decoder();
            let found = decoder.unwrap().icc_profile().unwrap();
            assert_eq!(found, Some(profile.clone()), "{:?}", input.kind);
        }
    }

    #[test]
    fn a_mask_gets_the_size_of_its_image() {
        let image = |width| file(RgbImage::new(width, 6), ImageFormat::Jpeg);
        let mask = FittedImage {
            bytes: file(
                RgbaImage::from_fn(16, 12, |x, _| Rgba([0, 0, 0, if x < 8 { 0 } else { 255 }])),
                ImageFormat::Png,
            ),
            kind: ImageKind::Png,
        };
        let fitted =
            |image: Bytes| DecodePermits::unshared(|permit| fit_mask(permit, mask.clone(), &image));
        let same = file(RgbImage::new(16, 12), ImageFormat::Jpeg);
        assert_eq!(fitted(same).unwrap().bytes, mask.bytes);
        let smaller = image::load_from_memory(&fitted(image(8)).unwrap().bytes).unwrap();
        let alpha: Vec<u8> = smaller
            .to_rgba8()
            .rows()
            .next()
            .unwrap()
            .map(|it| it.0[3])
            .collect();
        assert_eq!(
            (alpha, smaller.height()),
            (vec![0, 0, 0, 0, 255, 255, 255, 255], 6)
        );
        assert_eq!(
            fitted(Bytes::from_static(b"text")).unwrap_err(),
            Unfit::Damaged
        );
    }

    #[test]
    fn an_image_that_cannot_be_converted_is_an_error() {
        let avif = Bytes::from_static(b"\0\0\0\x14ftypavif\0\0\0\0avif");
        assert_eq!(fitted(avif, ACCEPTS).unwrap_err(), Unfit::Format("AVIF"));
        let heic = Bytes::from([&b"\0\0\0\x14ftypheic\0\0\0\0heic"[..], &[0; 300_000]].concat());
        let takes_heic = Accepts {
            kinds: &[ImageKind::Heic],
            ..ACCEPTS
        };
        assert_eq!(
            fitted(heic, takes_heic).unwrap_err(),
            Unfit::Unshrinkable("HEIC")
        );
        let mut damaged = file(noise(64), ImageFormat::WebP).to_vec();
        damaged.truncate(40);
        assert_eq!(fitted(damaged.into(), ACCEPTS).unwrap_err(), Unfit::Damaged);
        assert_eq!(
            fitted(Bytes::from_static(b"text"), ACCEPTS).unwrap_err(),
            Unfit::Damaged
        );
    }

    #[test]
    fn the_orientation_is_applied() {
        // An Exif block that says "turned by 90 degrees", right after the first marker.
        let exif = [
            &b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01"[..],
            &b"\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"[..],
        ]
        .concat();
        let jpeg = file(RgbImage::new(32, 16), ImageFormat::Jpeg);
        let turned: Bytes = [&jpeg[..2], &exif[..], &jpeg[2..]].concat().into();
        let input = fitted(turned, ACCEPTS).unwrap();
        let read = image::load_from_memory(&input.bytes).unwrap();
        assert_eq!((read.width(), read.height()), (16, 32));
    }
}
