//! Strips texts from a JPEG.

use super::xmp::is_provenance;
use crate::jpeg_segments::split_segment;

/// Exif or XMP, depending on the first bytes.
const APP1: u8 = 0xe1;
const COMMENT: u8 = 0xfe;
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Removes Exif, comments, and XMP without a provenance mark. Colour profiles and C2PA stay.
pub fn strip(jpeg: Vec<u8>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(jpeg.len());
    let (start, mut rest) = jpeg.split_at(jpeg.len().min(2));
    kept.extend_from_slice(start);
    while let Some((segment, after)) = split_segment(rest) {
        if !is_stripped(segment) {
            kept.extend_from_slice(segment);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    kept
}

fn is_stripped(segment: &[u8]) -> bool {
    match segment {
        [_, COMMENT, ..] => true,
        [_, APP1, rest @ ..] => {
            let content = rest.get(2..).unwrap_or_default();
            !content.starts_with(XMP) || !is_provenance(content)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageFormat, RgbImage};
    use std::io::Cursor;

    fn jpeg() -> Vec<u8> {
        let mut bytes = Vec::new();
        let image = RgbImage::new(16, 16);
        image
            .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Jpeg)
            .unwrap();
        bytes
    }

    fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker][..], &length, content].concat()
    }

    fn with(segments: &[Vec<u8>]) -> Vec<u8> {
        let plain = jpeg();
        [&plain[..2], &segments.concat(), &plain[2..]].concat()
    }

    #[test]
    fn only_texts_are_stripped() {
        let xmp = |packet: &[u8]| segment(APP1, &[XMP, packet].concat());
        let texts = [
            segment(APP1, b"Exif\0\0a prompt"),
            segment(COMMENT, b"parameters: a prompt"),
            xmp(b"<x>a prompt</x>"),
            segment(APP1, b"http://ns.adobe.com/xmp/extension/\0a prompt"),
        ];
        assert_eq!(strip(with(&texts)), jpeg());
        let filled = with(&[vec![0xff, 0xff], texts[0].clone()]);
        assert!(!strip(filled).windows(8).any(|it| it == b"a prompt"));
        let kept = [
            segment(0xe2, b"ICC_PROFILE\0\x01\x01"),
            segment(0xeb, b"JP C2PA"),
            xmp(b"<x Iptc4xmpExt:DigitalSourceType='y'/>"),
        ];
        assert_eq!(strip(with(&kept)), with(&kept));
    }

    #[test]
    fn a_file_without_segments_does_not_change() {
        let cut = [&[0xff, 0xd8, 0xff, APP1, 0xff, 0xff][..], b"Exif"].concat();
        for other in [&b""[..], b"\xff", b"GIF89a", &cut, &[0xff, 0xd8, 0xff]] {
            assert_eq!(strip(other.to_vec()), other);
        }
    }
}
