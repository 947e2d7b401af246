//! PNG: chunks of length, type, data and checksum (PNG third edition, section 5.3).

use super::{HeaderFault, Parts, Walk, Want, be32};

pub(super) const SIGNATURE: usize = 8;
/// Length and type.
const CHUNK_HEAD: usize = 8;
const CHECKSUM: u32 = 4;

#[derive(Default)]
pub(super) enum Walker {
    #[default]
    Signature,
    /// The first chunk must be the image header, of 13 bytes.
    Header,
    ChunkHead,
    Exif {
        length: usize,
    },
}

impl Walk for Walker {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match *self {
            Self::Signature => {
                parts.skeleton.extend_from_slice(taken);
                *self = Self::Header;
                Ok(Want::next(CHUNK_HEAD + 13 + CHECKSUM as usize))
            }
            Self::Header => {
                if !taken.starts_with(b"\0\0\0\x0dIHDR") {
                    return Err(HeaderFault::Damaged);
                }
                parts.skeleton.extend_from_slice(taken);
                parts.has_size = true;
                parts.is_incomplete = true;
                *self = Self::ChunkHead;
                Ok(Want::next(CHUNK_HEAD))
            }
            Self::ChunkHead => {
                let length = be32(taken).ok_or(HeaderFault::Damaged)?;
                match &taken[4..] {
                    b"IEND" => {
                        parts.is_incomplete = false;
                        Ok(Want::Nothing)
                    }
                    b"eXIf" if parts.exif.is_none() => {
                        let length = length as usize;
                        *self = Self::Exif { length };
                        Ok(Want::next(length.saturating_add(CHECKSUM as usize)))
                    }
                    _ => Ok(Want::Bytes {
                        skip: u64::from(length) + u64::from(CHECKSUM),
                        take: CHUNK_HEAD,
                    }),
                }
            }
            Self::Exif { length } => {
                parts.exif = Some(taken[..length].to_vec());
                *self = Self::ChunkHead;
                Ok(Want::next(CHUNK_HEAD))
            }
        }
    }
}
