//! The chunks of a PNG: strips texts, and checks the checksums.

use super::xmp::is_provenance;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a];
/// Length, name and checksum of a chunk.
const CHUNK_OVERHEAD: usize = 12;

/// Removes text chunks, Exif, and all bytes after the end of the image.
pub fn strip(png: Vec<u8>) -> Vec<u8> {
    let Some(body) = png.strip_prefix(&SIGNATURE) else {
        return png;
    };
    let mut kept = Vec::with_capacity(png.len());
    kept.extend_from_slice(&SIGNATURE);
    let mut rest = body;
    while let Some(chunk) = first_chunk(rest) {
        rest = &rest[chunk.len()..];
        if !is_stripped(chunk) {
            kept.extend_from_slice(chunk);
        }
        if &chunk[4..8] == b"IEND" {
            return kept;
        }
    }
    kept.extend_from_slice(rest);
    kept
}

/// Does each chunk match its checksum, up to the end of the image?
pub fn is_intact(png: &[u8]) -> bool {
    let mut rest = png.strip_prefix(&SIGNATURE).unwrap_or_default();
    while let Some(chunk) = first_chunk(rest) {
        let (content, checksum) = chunk[4..].split_at(chunk.len() - 8);
        if crc32fast::hash(content).to_be_bytes() != checksum {
            return false;
        }
        if content.starts_with(b"IEND") {
            return true;
        }
        rest = &rest[chunk.len()..];
    }
    false
}

fn first_chunk(rest: &[u8]) -> Option<&[u8]> {
    let length = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    rest.get(..usize::try_from(length).ok()?.checked_add(CHUNK_OVERHEAD)?)
}

fn is_stripped(chunk: &[u8]) -> bool {
    match &chunk[4..8] {
        b"tEXt" | b"zTXt" | b"eXIf" => true,
        // A compressed packet is not searched for a provenance mark, and so is stripped.
        b"iTXt" => match chunk[8..].strip_prefix(b"XML:com.adobe.xmp\0\0") {
            Some(packet) => !is_provenance(packet),
            None => true,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn png(texts: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(Cursor::new(&mut bytes), 2, 1);
        encoder.set_color(png::ColorType::Rgb);
        for (keyword, text) in texts {
            if text.is_ascii() {
                encoder
                    .add_text_chunk((*keyword).into(), (*text).into())
                    .unwrap();
            } else {
                encoder
                    .add_itxt_chunk((*keyword).into(), (*text).into())
                    .unwrap();
            }
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&[1, 2, 3, 4, 5, 6]).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn only_texts_are_stripped() {
        let texts = png(&[("parameters", "Steps: 20"), ("prompt", "{\"\u{fc}\": 1}")]);
        assert!(texts.windows(5).any(|it| it == b"Steps"));
        assert_eq!(strip(texts.clone()), png(&[]));
        let mut followed = texts;
        followed.extend_from_slice(b"and a zip file");
        assert_eq!(strip(followed), png(&[]));
    }

    #[test]
    fn every_changed_byte_and_every_truncation_is_found() {
        let whole = png(&[("a", "b")]);
        assert!(is_intact(&whole));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(!is_intact(&changed), "byte {at}");
            assert!(!is_intact(&whole[..at]), "{at} bytes");
        }
    }

    #[test]
    fn a_provenance_mark_is_preserved() {
        let mark = "<x Iptc4xmpExt:DigitalSourceType='trainedAlgorithmicMedia'>\u{fc}</x>";
        let marked = png(&[("XML:com.adobe.xmp", mark)]);
        assert_eq!(strip(marked.clone()), marked);
        let texts = png(&[("XML:com.adobe.xmp", "<x>a prompt \u{fc}</x>")]);
        assert_eq!(strip(texts), png(&[]));
    }

    #[test]
    fn a_file_without_chunks_does_not_change() {
        for other in [&b"GIF89a"[..], b"", &SIGNATURE] {
            assert_eq!(strip(other.to_vec()), other);
        }
        let mut cut = png(&[("a", "b")]);
        cut.truncate(cut.len() - 3);
        let kept = strip(cut.clone());
        assert!(cut.ends_with(&kept[kept.len() - 9..]) && kept.len() < cut.len());
        let absurd = [&SIGNATURE[..], &[0xff; 16]].concat();
        assert_eq!(strip(absurd.clone()), absurd);
    }
}
