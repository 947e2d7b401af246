//! Validates images from backends: format, integrity, and the aspect ratio of the job. Converts images to the file format that the
//! caller asks for.

use image::metadata::Orientation;
use image::{ImageFormat, ImageReader};
use std::io::Cursor;
use tintype_actors::ports::GenerateError;
use tintype_imaging::decoding::MAX_PIXELS;
use tintype_imaging::encoding::{self, PngEffort};
use tintype_imaging::{
    DecodePermit, ImageKind, MAX_SIDE, Pixels, Rect, jpeg_segments, metadata, open,
};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::image_options::{Background, ImageOptions};
use tintype_storage::domain::output_format::OutputFormat;

/// An image with a shorter side is a marker of some kind.
const MIN_SIDE: u32 = 16;
/// Accepted deviation of the aspect ratio, because models round their sides: one model's published size for 3:4 is off by 2.7 %.
const TOLERANCE: f64 = 0.03;
const JPEG_QUALITY: u8 = 95;

pub struct ValidImage {
    pub bytes: Vec<u8>,
    pub probed: ImageProperties,
}

pub struct ImageProperties {
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
}

/// # Errors
/// [`GenerateError::BackendFault`]
pub fn probe(bytes: &[u8]) -> Result<ImageProperties, GenerateError> {
    let broken =
        || GenerateError::BackendFault("the image generator did not return a valid image".into());
    let kind = ImageKind::from_bytes(bytes).ok_or_else(broken)?;
    // The server cannot validate a format that it cannot decode.
    let format = kind.decodable().ok_or_else(|| {
        GenerateError::BackendFault(format!(
            "the image generator returned an image in {}, which is not accepted",
            kind.name()
        ))
    })?;
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader.into_dimensions().map_err(|_| broken())?;
    Ok(ImageProperties {
        format,
        width,
        height,
    })
}

/// Validates an image and returns its final form.
///
/// It decodes every pixel, because a truncated image has an intact header. It keeps the bytes and removes only the generation
/// metadata, unless the image needs cropping, turning, another format, or a white background instead of transparency.
///
/// # Errors
/// [`GenerateError::BackendFault`], so that the job fails over to another backend.
pub fn validate(
    permit: &DecodePermit,
    bytes: Vec<u8>,
    ratio: AspectRatio,
    options: ImageOptions,
) -> Result<ValidImage, GenerateError> {
    let output = options.output;
    let probed = probe(&bytes)?;
    let (width, height) = (probed.width, probed.height);
    let pixels = u64::from(width) * u64::from(height);
    let sides = MIN_SIDE..=MAX_SIDE;
    if !sides.contains(&width) || !sides.contains(&height) || pixels > MAX_PIXELS {
        return Err(GenerateError::BackendFault(format!(
            "the image generator returned an image of {width} x {height} pixels, which is outside the accepted range"
        )));
    }
    let broken = |_| damaged();
    if probed.format == ImageFormat::Jpeg && !jpeg_segments::has_end(&bytes) {
        return Err(damaged());
    }
    let opened = open(permit, &bytes, probed.format).map_err(broken)?;
    let orientation = opened.orientation;
    let (width, height) = opened.upright_dimensions();
    let part = crop(width, height, ratio);
    let becomes_opaque = options.background == Some(Background::Opaque) && opened.has_alpha();
    let is_final = !becomes_opaque && output.is_none_or(|it| has_format(it, probed.format));
    if part.is_none() && orientation == Orientation::NoTransforms && is_final {
        opened.inspect().map_err(broken)?;
        let bytes = match probed.format {
            ImageFormat::Png => metadata::png::strip(bytes),
            ImageFormat::Jpeg => metadata::jpeg::strip(bytes),
            ImageFormat::WebP => metadata::webp::strip(bytes),
            _ => bytes,
        };
        return Ok(ValidImage { bytes, probed });
    }
    let mut pixels = opened.decode(u32::MAX).map_err(broken)?;
    drop(bytes);
    if becomes_opaque {
        pixels = pixels.on_white();
    }
    // An image with an Exif orientation is re-encoded too, because its metadata is removed.
    let part = part.unwrap_or(pixels.whole());
    encode(&pixels, part, probed.format, output, None)
}

/// Converts an image that this process drew. The file says so, as the drawn one does.
///
/// # Errors
/// [`GenerateError::BackendFault`]
pub fn convert(
    permit: &DecodePermit,
    bytes: Vec<u8>,
    output: OutputFormat,
) -> Result<ValidImage, GenerateError> {
    let format = probe(&bytes)?.format;
    let opened = open(permit, &bytes, format).map_err(|_| damaged())?;
    let pixels = opened.decode(u32::MAX).map_err(|_| damaged())?;
    drop(bytes);
    let maker = Some(tintype_procedural::MAKER);
    encode(&pixels, pixels.whole(), format, Some(output), maker)
}

pub fn damaged() -> GenerateError {
    GenerateError::BackendFault("the image generator returned a damaged image".into())
}

/// Has a file of this format the format that the caller asks for? A file of a lower quality is encoded again.
pub fn has_format(output: OutputFormat, format: ImageFormat) -> bool {
    match output {
        OutputFormat::Png => format == ImageFormat::Png,
        OutputFormat::Jpeg { quality } => format == ImageFormat::Jpeg && quality >= 100,
        OutputFormat::WebP => format == ImageFormat::WebP,
    }
}

/// The centered crop with this ratio; `None` if the image already has the ratio.
fn crop(width: u32, height: u32, ratio: AspectRatio) -> Option<Rect> {
    let (has, wanted) = (f64::from(width) / f64::from(height), ratio.value());
    if (has / wanted).ln().abs() <= TOLERANCE {
        return None;
    }
    let side = |value: f64, most: u32| (value.round() as u32).clamp(1, most);
    let (w, h) = match has > wanted {
        true => (side(f64::from(height) * wanted, width), height),
        false => (width, side(f64::from(width) / wanted, height)),
    };
    Some(Rect {
        x: (width - w) / 2,
        y: (height - h) / 2,
        width: w,
        height: h,
    })
}

/// Without `output`, keeps the format, except that a GIF, reduced to its first frame, becomes PNG.
fn encode(
    pixels: &Pixels,
    part: Rect,
    format: ImageFormat,
    output: Option<OutputFormat>,
    software: Option<&str>,
) -> Result<ValidImage, GenerateError> {
    let output = output.unwrap_or(match format {
        ImageFormat::Jpeg => OutputFormat::Jpeg {
            quality: JPEG_QUALITY,
        },
        ImageFormat::WebP => OutputFormat::WebP,
        _ => OutputFormat::Png,
    });
    let encoded = match output {
        OutputFormat::Png => encoding::png(pixels, part, PngEffort::Fast),
        OutputFormat::Jpeg { quality } => encoding::jpeg(pixels, part, quality, software),
        OutputFormat::WebP => encoding::webp(pixels, part, software),
    };
    let bytes = encoded.map_err(|error| {
        GenerateError::BackendFault(format!(
            "the image could not be encoded as {output}: {error}"
        ))
    })?;
    let probed = ImageProperties {
        width: part.width,
        height: part.height,
        ..probe(&bytes)?
    };
    Ok(ValidImage { bytes, probed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc32fast::hash as crc;
    use image::{DynamicImage, Rgb, RgbImage, Rgba, RgbaImage};
    use tintype_imaging::DecodePermits;
    use tintype_procedural::DrawRequest;

    fn validate(bytes: Vec<u8>, ratio: AspectRatio) -> Result<Vec<u8>, GenerateError> {
        validate_as(None, bytes, ratio)
    }

    fn validate_as(
        output: Option<OutputFormat>,
        bytes: Vec<u8>,
        ratio: AspectRatio,
    ) -> Result<Vec<u8>, GenerateError> {
        let options = ImageOptions {
            output,
            ..ImageOptions::default()
        };
        validate_with(options, bytes, ratio)
    }

    fn validate_with(
        options: ImageOptions,
        bytes: Vec<u8>,
        ratio: AspectRatio,
    ) -> Result<Vec<u8>, GenerateError> {
        let ValidImage { bytes, probed } =
            DecodePermits::unshared(|permit| super::validate(permit, bytes, ratio, options))?;
        let reported = (probed.format, probed.width, probed.height);
        assert_eq!(reported, size(&bytes), "the properties of the final bytes");
        Ok(bytes)
    }

    fn file(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let image = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 7]));
        let mut bytes = Vec::new();
        let image = DynamicImage::from(image);
        image
            .write_to(&mut Cursor::new(&mut bytes), format)
            .unwrap();
        bytes
    }

    fn size(bytes: &[u8]) -> (ImageFormat, u32, u32) {
        let probed = probe(bytes).unwrap();
        (probed.format, probed.width, probed.height)
    }

    fn ratio(text: &str) -> AspectRatio {
        text.parse().unwrap()
    }

    #[test]
    fn an_image_of_the_right_ratio_is_returned_byte_for_byte() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let bytes = file(848, 1264, format);
            assert_eq!(validate(bytes.clone(), ratio("2:3")).unwrap(), bytes);
        }
    }

    #[test]
    fn every_published_size_is_near_enough_to_its_ratio() {
        use tintype_storage::domain::tier::{Resolution, Tier};
        for it in AspectRatio::ALL {
            for tier in Tier::ALL {
                let (width, height) = it.pixels(tier, Resolution::K1);
                assert_eq!(crop(width, height, it), None, "{it} {width}x{height}");
            }
        }
    }

    #[test]
    fn another_shape_is_cropped_in_its_own_format() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let bytes = validate(file(400, 300, format), ratio("1:1")).unwrap();
            assert_eq!(size(&bytes), (format, 300, 300));
        }
        let gif = validate(file(64, 64, ImageFormat::Gif), ratio("2:3")).unwrap();
        assert_eq!(size(&gif), (ImageFormat::Png, 43, 64));
        assert_eq!(
            crop(1584, 672, ratio("8:1")),
            Some(Rect {
                x: 0,
                y: 237,
                width: 1584,
                height: 198
            })
        );
    }

    /// An Exif block that says "turned by 90 degrees", and a prompt.
    fn exif() -> Vec<u8> {
        let mut exif =
            b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
        exif.extend(b"a s3cret prompt");
        exif
    }

    #[test]
    fn a_rotated_image_is_turned_upright_and_loses_its_exif_data() {
        let (jpeg, png) = (
            file(60, 40, ImageFormat::Jpeg),
            file(60, 40, ImageFormat::Png),
        );
        let block = [b"Exif\0\0".to_vec(), exif()].concat();
        let length = u16::try_from(block.len() + 2).unwrap().to_be_bytes();
        let jpeg = [&jpeg[..2], &[0xff, 0xe1], &length, &block, &jpeg[2..]].concat();
        let named = [b"eXIf".to_vec(), exif()].concat();
        let length = u32::try_from(exif().len()).unwrap().to_be_bytes();
        let chunk = [&length[..], &named, &crc(&named).to_be_bytes()].concat();
        let png = [&png[..33], &chunk, &png[33..]].concat();
        for (turned, format) in [(jpeg, ImageFormat::Jpeg), (png, ImageFormat::Png)] {
            let kept = validate(turned, ratio("2:3")).unwrap();
            assert_eq!(size(&kept), (format, 40, 60));
            assert!(!kept.windows(6).any(|it| it == b"s3cret"), "{format:?}");
        }
    }

    const FORMATS: [(OutputFormat, ImageFormat); 3] = [
        (OutputFormat::Png, ImageFormat::Png),
        (OutputFormat::Jpeg { quality: 100 }, ImageFormat::Jpeg),
        (OutputFormat::WebP, ImageFormat::WebP),
    ];

    #[test]
    fn an_image_gets_the_format_that_the_caller_asks_for() {
        let formats = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP];
        for from in [&formats[..], &[ImageFormat::Gif]].concat() {
            let bytes = file(64, 48, from);
            for (output, to) in FORMATS {
                let kept = validate_as(Some(output), bytes.clone(), ratio("4:3")).unwrap();
                assert_eq!(size(&kept), (to, 64, 48));
                assert_eq!(kept == bytes, from == to, "{from:?} {to:?}");
                let cropped = validate_as(Some(output), bytes.clone(), ratio("1:1")).unwrap();
                assert_eq!(size(&cropped), (to, 48, 48));
            }
        }
    }

    #[test]
    fn an_opaque_image_is_requested_and_transparency_becomes_white() {
        let transparent = RgbaImage::from_pixel(64, 64, Rgba([200, 0, 0, 51]));
        for (format, output) in [
            (ImageFormat::Png, None),
            (ImageFormat::WebP, None),
            (ImageFormat::Png, Some(OutputFormat::Png)),
            (ImageFormat::Png, Some(OutputFormat::WebP)),
        ] {
            let mut bytes = Vec::new();
            let mut cursor = Cursor::new(&mut bytes);
            transparent.write_to(&mut cursor, format).unwrap();
            for background in [None, Some(Background::Transparent)] {
                let options = ImageOptions {
                    output,
                    background,
                    ..ImageOptions::default()
                };
                let kept = validate_with(options, bytes.clone(), ratio("1:1")).unwrap();
                let kept = image::load_from_memory(&kept).unwrap();
                assert_eq!(kept.into_rgba8().get_pixel(9, 9).0[3], 51);
            }
            let options = ImageOptions {
                output,
                background: Some(Background::Opaque),
                ..ImageOptions::default()
            };
            let flat = validate_with(options, bytes.clone(), ratio("1:1")).unwrap();
            let flat = image::load_from_memory(&flat).unwrap();
            assert!(!flat.color().has_alpha(), "{format:?} {output:?}");
            assert_eq!(flat.into_rgb8().get_pixel(9, 9).0, [244, 204, 204]);
        }
        let options = ImageOptions {
            background: Some(Background::Opaque),
            ..ImageOptions::default()
        };
        let opaque = file(64, 64, ImageFormat::Png);
        let kept = validate_with(options, opaque.clone(), ratio("1:1")).unwrap();
        assert_eq!(kept, opaque, "not encoded again");
    }

    #[test]
    fn a_jpeg_is_encoded_again_only_for_a_lower_quality() {
        let jpeg = file(64, 64, ImageFormat::Jpeg);
        let with = |quality| {
            let output = Some(OutputFormat::Jpeg { quality });
            validate_as(output, jpeg.clone(), ratio("1:1")).unwrap()
        };
        assert_eq!(with(100), jpeg);
        assert!(with(0).len() < with(60).len());
        assert!(with(60).len() < with(99).len());
    }

    #[test]
    fn a_damaged_image_is_broken_in_every_format() {
        for from in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let whole = file(300, 300, from);
            for (output, _) in FORMATS {
                let half = whole[..whole.len() / 2].to_vec();
                let error = validate_as(Some(output), half, ratio("1:1")).unwrap_err();
                assert!(matches!(error, GenerateError::BackendFault(_)), "{from:?}");
            }
        }
    }

    #[test]
    fn a_converted_drawing_says_that_no_ai_model_was_used() {
        let request = DrawRequest {
            prompt: "a red fox",
            width: 64,
            height: 48,
            inputs: &[],
            has_mask: false,
        };
        let drawn = tintype_procedural::draw(&request).unwrap();
        for (output, format) in &FORMATS[1..] {
            let png = drawn.png.clone();
            let converted = DecodePermits::unshared(|permit| convert(permit, png, *output));
            let bytes = converted.unwrap().bytes;
            assert_eq!(size(&bytes), (*format, 64, 48));
            let says = |text: &str| bytes.windows(text.len()).any(|it| it == text.as_bytes());
            assert!(says(tintype_procedural::MAKER) && says("no AI model was used"));
        }
    }

    #[test]
    fn truncated_images_and_other_data_are_broken() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let whole = file(300, 300, format);
            let half = validate(whole[..whole.len() / 2].to_vec(), ratio("1:1"));
            assert!(
                matches!(half, Err(GenerateError::BackendFault(_))),
                "{format:?}"
            );
        }
        for other in [&b"<html>"[..], b""] {
            let bytes = validate(other.to_vec(), ratio("1:1"));
            assert!(matches!(bytes, Err(GenerateError::BackendFault(_))));
        }
        let avif = b"\0\0\0\x14ftypavif\0\0\0\0avif".to_vec();
        let error = validate(avif, ratio("1:1")).unwrap_err();
        assert!(matches!(&error, GenerateError::BackendFault(text) if text.contains("AVIF")));
    }

    #[test]
    fn images_of_implausible_sizes_are_broken() {
        for (width, height) in [(8, 8), (17_000, 20), (10_000, 9_000)] {
            let mut png = file(8, 8, ImageFormat::Png);
            // The header says another size, and its checksum says so too.
            png[16..20].copy_from_slice(&u32::to_be_bytes(width));
            png[20..24].copy_from_slice(&u32::to_be_bytes(height));
            let sum = crc(&png[12..29]);
            png[29..33].copy_from_slice(&sum.to_be_bytes());
            let error = validate(png, ratio("1:1")).unwrap_err().to_string();
            assert!(error.contains("outside the accepted range"), "{error}");
        }
    }
}
