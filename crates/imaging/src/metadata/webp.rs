//! Strips texts from a WebP (RFC 9649).

use super::xmp::is_provenance;

/// `RIFF`, the length of the rest, and `WEBP`.
const HEAD: usize = 12;
/// Name and length of a chunk.
const CHUNK_HEAD: usize = 8;
/// Flags in the first byte of the `VP8X` chunk.
const HAS_EXIF: u8 = 0x08;
const HAS_XMP: u8 = 0x04;

/// Removes Exif, XMP without a provenance mark, and all bytes after the end of the image.
pub fn strip(webp: Vec<u8>) -> Vec<u8> {
    let Some((b"RIFF", length)) = frame(&webp) else {
        return webp;
    };
    if webp.get(8..HEAD) != Some(b"WEBP") {
        return webp;
    }
    let end = length.saturating_add(CHUNK_HEAD).clamp(HEAD, webp.len());
    let mut rest = &webp[HEAD..end];
    let mut kept = webp[..HEAD].to_vec();
    let mut flags = None;
    let mut removed = 0;
    while let Some((name, length)) = frame(rest) {
        // Chunks are padded to an even length; the last one may lack its padding.
        let padded = CHUNK_HEAD.saturating_add(length).saturating_add(length % 2);
        let (chunk, after) = rest.split_at(padded.min(rest.len()));
        match name {
            b"EXIF" => removed |= HAS_EXIF,
            b"XMP " if !is_provenance(chunk) => removed |= HAS_XMP,
            _ => {
                if name == b"VP8X" && length > 0 {
                    flags = Some(kept.len() + CHUNK_HEAD);
                }
                kept.extend_from_slice(chunk);
            }
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    if let Some(flags) = flags.and_then(|at| kept.get_mut(at)) {
        *flags &= !removed;
    }
    if let Ok(length) = u32::try_from(kept.len() - CHUNK_HEAD) {
        kept[4..8].copy_from_slice(&length.to_le_bytes());
    }
    kept
}

/// Reads the name and the length of a chunk.
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

    /// An image of 16 x 16 with these chunks after its pixels.
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
    fn texts_and_their_flags_are_stripped() {
        let texts = [
            chunk(b"EXIF", b"a prompt!"),
            chunk(b"XMP ", b"<x>a prompt</x>"),
        ];
        assert_eq!(strip(webp(HAS_EXIF | HAS_XMP, &texts)), webp(0, &[]));
        let mark = chunk(b"XMP ", b"<x Iptc4xmpExt:DigitalSourceType='y'/>");
        let marked = webp(HAS_XMP, std::slice::from_ref(&mark));
        assert_eq!(strip(marked.clone()), marked);
        let both = webp(HAS_EXIF | HAS_XMP, &[texts[0].clone(), mark]);
        assert_eq!(strip(both), marked);
        let followed = [marked.clone(), b"a prompt".to_vec()].concat();
        assert_eq!(strip(followed), marked);
        assert!(image::load_from_memory(&strip(webp(HAS_EXIF, &texts[..1]))).is_ok());
    }

    #[test]
    fn a_file_without_chunks_does_not_change() {
        for other in [&b""[..], b"RIFF", b"RIFF\xff\xff\xff\xffWAVE", b"GIF89a"] {
            assert_eq!(strip(other.to_vec()), other);
        }
        let absurd = [
            &b"RIFF\xff\xff\xff\xffWEBPVP8X\xff\xff\xff\xff"[..],
            &[8; 9],
        ]
        .concat();
        let kept = strip(absurd.clone());
        assert_eq!((kept.len(), &kept[8..]), (absurd.len(), &absurd[8..]));
    }
}
