//! Converts an image to the format that its file name promises.

use super::output::note;
use anyhow::{anyhow, bail};
use bytes::Bytes;
use std::io::Cursor;
use std::path::Path;
use tintype_imaging::encoding::{self, PngEffort};
use tintype_imaging::{DecodePermits, ImageKind, open};
use tintype_procedural::MAKER;

/// For a file that the user has named as a JPEG without a quality.
const JPEG_QUALITY: u8 = 95;

/// The image in the format of the file's extension. An image that cannot be converted stays as it is, because the user has paid for
/// it; a note tells the user. Files with another extension get the image as it is.
pub fn for_file(file: &Path, image: Bytes) -> Bytes {
    let Some(wanted) = of_extension(file) else {
        return image;
    };
    let kind = ImageKind::from_bytes(&image);
    if kind == Some(wanted) {
        return image;
    }
    convert(&image, kind, wanted).map_or_else(
        |error| {
            note(&format!(
                "{} is not a {} file: {error}; it has the image as the server sent it",
                file.display(),
                wanted.name()
            ));
            image.clone()
        },
        Bytes::from,
    )
}

/// The format that the extension of a file names.
pub fn of_extension(file: &Path) -> Option<ImageKind> {
    let extension = file.extension().and_then(|it| it.to_str())?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => ImageKind::Png,
        "jpg" | "jpeg" => ImageKind::Jpeg,
        "webp" => ImageKind::WebP,
        _ => return None,
    })
}

/// Has the built-in generator drawn the image?
pub fn is_demo(image: &[u8]) -> bool {
    software(image).as_deref() == Some(MAKER)
}

/// The extension of a file with this image.
pub fn extension(image: &[u8]) -> &'static str {
    ImageKind::from_bytes(image).map_or("png", ImageKind::extension)
}

fn convert(image: &[u8], kind: Option<ImageKind>, wanted: ImageKind) -> anyhow::Result<Vec<u8>> {
    let Some(format) = kind.and_then(ImageKind::decodable) else {
        bail!("its format is unknown");
    };
    let software = software(image);
    DecodePermits::unshared(|permit| {
        let pixels = open(permit, image, format).and_then(|it| it.decode(u32::MAX));
        let pixels = pixels.map_err(|_| anyhow!("it is damaged or too large"))?;
        let whole = pixels.whole();
        let bytes = match wanted {
            ImageKind::Jpeg => encoding::jpeg(&pixels, whole, JPEG_QUALITY, software.as_deref())?,
            ImageKind::WebP => encoding::webp(&pixels, whole, software.as_deref())?,
            _ => encoding::png(&pixels, whole, PngEffort::Balanced)?,
        };
        Ok(bytes)
    })
}

/// The program that a PNG names as its maker. The built-in generator says there that it is no AI model.
fn software(image: &[u8]) -> Option<String> {
    let reader = png::Decoder::new(Cursor::new(image)).read_info().ok()?;
    let mut texts = reader.info().utf8_text.iter();
    let text = texts.find(|it| it.keyword == "Software")?.get_text().ok()?;
    text.is_ascii().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_procedural::DrawRequest;

    fn drawn() -> Bytes {
        let request = DrawRequest {
            prompt: "a red fox",
            width: 64,
            height: 48,
            inputs: &[],
            has_mask: false,
        };
        Bytes::from(tintype_procedural::draw(&request).unwrap().png)
    }

    #[test]
    fn the_extension_of_the_file_decides_the_format() {
        let png = drawn();
        for (name, wanted) in [
            ("a.jpg", ImageKind::Jpeg),
            ("a.JPEG", ImageKind::Jpeg),
            ("a.webp", ImageKind::WebP),
            ("a.png", ImageKind::Png),
        ] {
            let image = for_file(Path::new(name), png.clone());
            assert_eq!(ImageKind::from_bytes(&image), Some(wanted), "{name}");
            assert_eq!(image == png, wanted == ImageKind::Png, "{name}");
            let text = String::from_utf8_lossy(&image);
            assert!(text.contains(MAKER), "{name} says how it was made");
        }
        for name in ["a", "a.tiff", "a.png.bak"] {
            assert_eq!(for_file(Path::new(name), png.clone()), png);
        }
    }

    #[test]
    fn only_the_built_in_generator_draws_demo_images() {
        assert!(is_demo(&drawn()));
        assert!(!is_demo(b"something else"));
    }

    #[test]
    fn an_image_that_cannot_be_converted_stays_as_it_is() {
        let damaged = drawn().slice(..100);
        assert_eq!(for_file(Path::new("a.jpg"), damaged.clone()), damaged);
        let unknown = Bytes::from_static(b"something else");
        assert_eq!(for_file(Path::new("a.jpg"), unknown.clone()), unknown);
    }
}
