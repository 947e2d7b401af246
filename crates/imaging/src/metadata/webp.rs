//! Takes the texts out of a WebP (RFC 9649): servers write the prompt into its Exif block or its XMP.

use super::xmp::is_mark_of_origin;

/// `RIFF`, the length of what follows, and `WEBP`.
const HEAD: usize = 12;
/// Name and length of a chunk.
const FRAME: usize = 8;
/// What the first byte of the `VP8X` chunk says is there.
const HAS_EXIF: u8 = 0x08;
const HAS_XMP: u8 = 0x04;

/// The same picture without Exif and XMP but a mark of origin, its pixels untouched, and without what follows its end. Whoever
/// is turned by the Exif block must be turned before. What is no chunk ends the walk and is kept as it is, for a decoder has
/// found the picture sound.
pub fn without(webp: Vec<u8>) -> Vec<u8> {
    let Some((b"RIFF", length)) = frame(&webp) else {
        return webp;
    };
    if webp.get(8..HEAD) != Some(b"WEBP") {
        return webp;
    }
    let end = length.saturating_add(FRAME).clamp(HEAD, webp.len());
    let mut rest = &webp[HEAD..end];
    let mut kept = webp[..HEAD].to_vec();
    let mut flags = None;
    let mut gone = 0;
    while let Some((name, length)) = frame(rest) {
        // Chunks are padded to an even length; the last one may lack its padding.
        let padded = FRAME.saturating_add(length).saturating_add(length % 2);
        let (chunk, after) = rest.split_at(padded.min(rest.len()));
        match name {
            b"EXIF" => gone |= HAS_EXIF,
            b"XMP " if !is_mark_of_origin(chunk) => gone |= HAS_XMP,
            _ => {
                if name == b"VP8X" && length > 0 {
                    flags = Some(kept.len() + FRAME);
                }
                kept.extend_from_slice(chunk);
            }
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    if let Some(flags) = flags.and_then(|at| kept.get_mut(at)) {
        *flags &= !gone;
    }
    if let Ok(length) = u32::try_from(kept.len() - FRAME) {
        kept[4..8].copy_from_slice(&length.to_le_bytes());
    }
    kept
}

/// Name and length of the chunk that begins here.
fn frame(rest: &[u8]) -> Option<(&[u8; 4], usize)> {
    let (name, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    Some((name, usize::try_from(length).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageFormat, RgbImage};
    use std::io::Cursor;

    fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().to_le_bytes();
        let mut chunk = [&name[..], &length, content].concat();
        chunk.resize(chunk.len() + content.len() % 2, 0);
        chunk
    }

    /// A picture of 16 x 16 with these chunks behind its pixels.
    fn webp(flags: u8, chunks: &[Vec<u8>]) -> Vec<u8> {
        let mut plain = Vec::new();
        let image = RgbImage::new(16, 16);
        image
            .write_to(&mut Cursor::new(&mut plain), ImageFormat::WebP)
            .unwrap();
        let head = chunk(b"VP8X", &[flags, 0, 0, 0, 15, 0, 0, 15, 0, 0]);
        let body = [b"WEBP", &head[..], &plain[HEAD..], &chunks.concat()].concat();
        chunk(b"RIFF", &body)
    }

    #[test]
    fn texts_go_with_what_says_that_they_are_there() {
        let told = [
            chunk(b"EXIF", b"a prompt!"),
            chunk(b"XMP ", b"<x>a prompt</x>"),
        ];
        assert_eq!(without(webp(HAS_EXIF | HAS_XMP, &told)), webp(0, &[]));
        let mark = chunk(b"XMP ", b"<x Iptc4xmpExt:DigitalSourceType='y'/>");
        let marked = webp(HAS_XMP, std::slice::from_ref(&mark));
        assert_eq!(without(marked.clone()), marked);
        let both = webp(HAS_EXIF | HAS_XMP, &[told[0].clone(), mark]);
        assert_eq!(without(both), marked);
        let followed = [marked.clone(), b"a prompt".to_vec()].concat();
        assert_eq!(without(followed), marked);
        assert!(image::load_from_memory(&without(webp(HAS_EXIF, &told[..1]))).is_ok());
    }

    #[test]
    fn what_is_not_made_of_chunks_is_left_alone() {
        for other in [&b""[..], b"RIFF", b"RIFF\xff\xff\xff\xffWAVE", b"GIF89a"] {
            assert_eq!(without(other.to_vec()), other);
        }
        let absurd = [
            &b"RIFF\xff\xff\xff\xffWEBPVP8X\xff\xff\xff\xff"[..],
            &[8; 9],
        ]
        .concat();
        let kept = without(absurd.clone());
        assert_eq!((kept.len(), &kept[8..]), (absurd.len(), &absurd[8..]));
    }
}
