//! Describes a file that cannot be decoded, for the log.

use crate::kind::ImageKind;

/// A file ends with its end marker, which padding may follow. Only so many bytes are searched.
const SEARCHED_BYTES: usize = 1_024;

/// The format and the size of a file, and whether its end is missing: `PNG of 3749 bytes, truncated`.
pub fn describe(file: &[u8]) -> String {
    let size = file.len();
    match ImageKind::from_bytes(file) {
        None => format!("{size} bytes that are no known image format"),
        Some(kind) if !has_end(kind, file) => format!("{} of {size} bytes, truncated", kind.name()),
        Some(kind) => format!("{} of {size} bytes", kind.name()),
    }
}

fn has_end(kind: ImageKind, file: &[u8]) -> bool {
    let tail = &file[file.len().saturating_sub(SEARCHED_BYTES)..];
    match kind {
        ImageKind::Png => tail.windows(4).any(|it| it == b"IEND"),
        ImageKind::Jpeg => tail.windows(2).any(|it| it == [0xff, 0xd9]),
        ImageKind::Gif => tail.contains(&b';'),
        // The size of the rest follows `RIFF`.
        ImageKind::WebP => match file {
            [_, _, _, _, a, b, c, d, rest @ ..] => {
                rest.len() as u64 >= u64::from(u32::from_le_bytes([*a, *b, *c, *d]))
            }
            _ => false,
        },
        // They have no end marker.
        ImageKind::Heic | ImageKind::Avif => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, ImageFormat};
    use std::io::Cursor;

    fn file(format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let image = DynamicImage::new_rgb8(64, 64);
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_description_names_the_format_the_size_and_a_missing_end() {
        for (format, name) in [
            (ImageFormat::Png, "PNG"),
            (ImageFormat::Jpeg, "JPEG"),
            (ImageFormat::WebP, "WebP"),
        ] {
            let whole = file(format);
            let size = whole.len();
            assert_eq!(describe(&whole), format!("{name} of {size} bytes"));
            let half = &whole[..size / 2];
            let expected = format!("{name} of {} bytes, truncated", size / 2);
            assert_eq!(describe(half), expected);
        }
        assert_eq!(describe(b"GIF89a"), "GIF of 6 bytes, truncated");
        assert_eq!(
            describe(b"<html>"),
            "6 bytes that are no known image format"
        );
        assert_eq!(describe(b""), "0 bytes that are no known image format");
    }
}
