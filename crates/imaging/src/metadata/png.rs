//! Takes the texts out of a PNG: servers write the prompt, the whole graph and paths of their models into them.

use super::xmp::is_mark_of_origin;

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a];
/// Length, name and checksum of a chunk.
const FRAME: usize = 12;

/// The same picture without text chunks and Exif, its pixels untouched, and without what follows its end. A mark of origin
/// (in XMP, or the signed one of C2PA) stays: it tells what made the picture and not how. What is no chunk ends the walk and
/// is kept as it is, for a decoder has found the picture sound.
pub fn without(png: Vec<u8>) -> Vec<u8> {
    let Some(body) = png.strip_prefix(&SIGNATURE) else {
        return png;
    };
    let mut kept = Vec::with_capacity(png.len());
    kept.extend_from_slice(&SIGNATURE);
    let mut rest = body;
    while let Some(chunk) = first_chunk(rest) {
        rest = &rest[chunk.len()..];
        if !tells(chunk) {
            kept.extend_from_slice(chunk);
        }
        if &chunk[4..8] == b"IEND" {
            return kept;
        }
    }
    kept.extend_from_slice(rest);
    kept
}

fn first_chunk(rest: &[u8]) -> Option<&[u8]> {
    let length = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    rest.get(..usize::try_from(length).ok()?.checked_add(FRAME)?)
}

fn tells(chunk: &[u8]) -> bool {
    match &chunk[4..8] {
        b"tEXt" | b"zTXt" | b"eXIf" => true,
        // One that is packed is not read, and so not known for a mark.
        b"iTXt" => match chunk[8..].strip_prefix(b"XML:com.adobe.xmp\0\0") {
            Some(packet) => !is_mark_of_origin(packet),
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
    fn texts_go_and_everything_else_stays() {
        let told = png(&[("parameters", "Steps: 20"), ("prompt", "{\"\u{fc}\": 1}")]);
        assert!(told.windows(5).any(|it| it == b"Steps"));
        assert_eq!(without(told.clone()), png(&[]));
        let mut followed = told;
        followed.extend_from_slice(b"and a zip file");
        assert_eq!(without(followed), png(&[]));
    }

    #[test]
    fn a_mark_of_origin_stays() {
        let mark = "<x Iptc4xmpExt:DigitalSourceType='trainedAlgorithmicMedia'>\u{fc}</x>";
        let marked = png(&[("XML:com.adobe.xmp", mark)]);
        assert_eq!(without(marked.clone()), marked);
        let told = png(&[("XML:com.adobe.xmp", "<x>a prompt \u{fc}</x>")]);
        assert_eq!(without(told), png(&[]));
    }

    #[test]
    fn what_is_not_made_of_chunks_is_left_alone() {
        for other in [&b"GIF89a"[..], b"", &SIGNATURE] {
            assert_eq!(without(other.to_vec()), other);
        }
        let mut cut = png(&[("a", "b")]);
        cut.truncate(cut.len() - 3);
        let kept = without(cut.clone());
        assert!(cut.ends_with(&kept[kept.len() - 9..]) && kept.len() < cut.len());
        let absurd = [&SIGNATURE[..], &[0xff; 16]].concat();
        assert_eq!(without(absurd.clone()), absurd);
    }
}
