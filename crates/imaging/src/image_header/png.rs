//! PNG: chunks of length, type, data and checksum (PNG third edition, section 5.3).

use super::{FormatParser, HeaderFault, NextRead, Parts, be32};
use crate::size::Size;

pub(super) const SIGNATURE: usize = 8;
/// Length and type.
const CHUNK_HEAD: usize = 8;
const CHECKSUM: u32 = 4;
/// Of the colour type in the image header, which follows size and bit depth.
const COLOUR_TYPE: usize = CHUNK_HEAD + 9;
/// The bit of a colour type with an alpha channel.
const ALPHA: u8 = 4;

#[derive(Default)]
pub(super) enum Parser {
    #[default]
    Signature,
    /// The first chunk must be the image header, of 13 bytes.
    Header,
    ChunkHead,
    Exif {
        length: usize,
    },
}

impl FormatParser for Parser {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        match *self {
            Self::Signature => {
                *self = Self::Header;
                Ok(NextRead::bytes(CHUNK_HEAD + 13 + CHECKSUM as usize))
            }
            Self::Header => {
                if !taken.starts_with(b"\0\0\0\x0dIHDR") {
                    return Err(HeaderFault::Damaged);
                }
                let side = |at| be32(&taken[at..]).ok_or(HeaderFault::Damaged);
                let (width, height) = (side(CHUNK_HEAD)?, side(CHUNK_HEAD + 4)?);
                parts.size = Some(Size { width, height });
                parts.has_alpha = taken[COLOUR_TYPE] & ALPHA != 0;
                parts.is_incomplete = true;
                *self = Self::ChunkHead;
                Ok(NextRead::bytes(CHUNK_HEAD))
            }
            Self::ChunkHead => {
                let length = be32(taken).ok_or(HeaderFault::Damaged)?;
                match &taken[4..] {
                    b"IEND" => {
                        parts.is_incomplete = false;
                        Ok(NextRead::Nothing)
                    }
                    // The decoder adds an alpha channel.
                    b"tRNS" => {
                        parts.has_alpha = true;
                        Ok(skip(length))
                    }
                    b"eXIf" if parts.exif.is_none() => {
                        let length = length as usize;
                        *self = Self::Exif { length };
                        Ok(NextRead::bytes(length.saturating_add(CHECKSUM as usize)))
                    }
                    _ => Ok(skip(length)),
                }
            }
            Self::Exif { length } => {
                parts.exif = Some(taken[..length].to_vec());
                *self = Self::ChunkHead;
                Ok(NextRead::bytes(CHUNK_HEAD))
            }
        }
    }
}

/// Skips a chunk.
fn skip(length: u32) -> NextRead {
    NextRead::Bytes {
        skip: u64::from(length) + u64::from(CHECKSUM),
        take: CHUNK_HEAD,
    }
}

#[cfg(test)]
mod tests {
    use crate::{HeaderReader, ImageKind};
    use png::{ColorType, Encoder};

    fn has_alpha(colour: ColorType, transparent: Option<&[u8]>) -> bool {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, 1, 1);
        encoder.set_color(colour);
        if colour == ColorType::Indexed {
            encoder.set_palette(&[1, 2, 3][..]);
        }
        if let Some(transparent) = transparent {
            encoder.set_trns(transparent.to_vec());
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&vec![0; colour.samples()]).unwrap();
        writer.finish().unwrap();
        let mut reader = HeaderReader::new(ImageKind::Png);
        reader.push(&file).unwrap();
        let decoded = image::load_from_memory(&file).unwrap();
        assert_eq!(reader.has_alpha(), decoded.color().has_alpha());
        reader.has_alpha()
    }

    #[test]
    fn an_alpha_channel_is_found_in_the_header() {
        assert!(has_alpha(ColorType::Rgba, None));
        assert!(has_alpha(ColorType::GrayscaleAlpha, None));
        assert!(has_alpha(ColorType::Indexed, Some(&[0])));
        assert!(has_alpha(ColorType::Rgb, Some(&[0; 6])));
        assert!(has_alpha(ColorType::Grayscale, Some(&[0; 2])));
        for colour in [ColorType::Rgb, ColorType::Grayscale, ColorType::Indexed] {
            assert!(!has_alpha(colour, None));
        }
    }
}
