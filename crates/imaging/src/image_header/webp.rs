//! WebP: RIFF chunks, the first of which contains the size (RFC 9649 section 2). The Exif block, if any, follows the image.

use super::{HeaderFault, Parts, Walk, Want};

pub(super) const RIFF_HEADER: usize = 12;
const CHUNK_HEAD: usize = 8;
/// The first bytes of the first chunk's data, with the dimensions.
const DIMENSIONS: usize = 10;
const EXIF: &[u8] = b"Exif\0\0";

#[derive(Default)]
pub(super) enum Walker {
    #[default]
    Riff,
    FirstChunk,
    /// The last byte of the chunk that is the whole image.
    Image,
    ChunkHead,
    /// The last byte of an image chunk. `length` is the length of the chunk.
    Frame {
        length: u64,
    },
    Exif {
        length: usize,
    },
}

impl Walk for Walker {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match *self {
            Self::Riff => {
                parts.skeleton.extend_from_slice(taken);
                *self = Self::FirstChunk;
                Ok(Want::next(CHUNK_HEAD + DIMENSIONS))
            }
            Self::FirstChunk => self.first_chunk(taken, parts),
            Self::Image => {
                parts.is_incomplete = false;
                Ok(Want::Nothing)
            }
            Self::ChunkHead => self.chunk(taken, parts),
            Self::Frame { length } => {
                parts.is_incomplete = false;
                *self = Self::ChunkHead;
                Ok(Want::Bytes {
                    skip: length % 2,
                    take: CHUNK_HEAD,
                })
            }
            Self::Exif { length } => {
                // Some programs prefix the block as in JPEG, although the format has no prefix.
                let block = &taken[..length];
                let block = block.strip_prefix(EXIF).unwrap_or(block).to_vec();
                parts.exif.get_or_insert(block);
                *self = Self::ChunkHead;
                Ok(Want::Bytes {
                    skip: length as u64 % 2,
                    take: CHUNK_HEAD,
                })
            }
        }
    }
}

impl Walker {
    fn first_chunk(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        let mut chunk = taken.to_vec();
        let length = length(taken);
        let data = &mut chunk[CHUNK_HEAD..];
        match &taken[..4] {
            // A key frame, with its start code (RFC 6386 section 9.1). The upper two bits of each side request scaling, which no
            // decoder does.
            b"VP8 " if data[0] & 1 == 0 && data[3..6] == [0x9d, 0x01, 0x2a] => {
                data[7] &= 0x3f;
                data[9] &= 0x3f;
                *self = Self::Image;
            }
            b"VP8L" if data[0] == 0x2f => *self = Self::Image,
            b"VP8X" => *self = Self::ChunkHead,
            _ => return Err(HeaderFault::Damaged),
        }
        parts.skeleton.append(&mut chunk);
        parts.has_size = true;
        let rest = length.checked_sub(DIMENSIONS as u64);
        match (&*self, rest) {
            (Self::ChunkHead, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(Want::Bytes {
                    skip: rest + length % 2,
                    take: CHUNK_HEAD,
                })
            }
            (Self::ChunkHead, None) => Err(HeaderFault::Damaged),
            // The walker has read the whole chunk.
            (_, None | Some(0)) => Ok(Want::Nothing),
            (_, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(last_of(rest))
            }
        }
    }

    fn chunk(&mut self, head: &[u8], parts: &Parts) -> Result<Want, HeaderFault> {
        let length = length(head);
        match &head[..4] {
            b"EXIF" if length > 0 => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                *self = Self::Exif { length };
                Ok(Want::next(length))
            }
            b"VP8 " | b"VP8L" | b"ANMF" if parts.is_incomplete && length > 0 => {
                *self = Self::Frame { length };
                Ok(last_of(length))
            }
            _ => Ok(Want::Bytes {
                skip: length + length % 2,
                take: CHUNK_HEAD,
            }),
        }
    }
}

/// The last byte of a chunk, whose length must be at least 1.
fn last_of(length: u64) -> Want {
    Want::Bytes {
        skip: length - 1,
        take: 1,
    }
}

fn length(head: &[u8]) -> u64 {
    u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]))
}
