//! WebP: RIFF chunks, the first of which says the size (RFC 9649 section 2). The Exif block, if any, follows the picture.

use super::{HeaderFault, Parts, Walk, Want};

const RIFF_HEADER: usize = 12;
const CHUNK_HEAD: usize = 8;
/// The first bytes of the first chunk's data, which hold its dimensions.
const DIMENSIONS: usize = 10;
const EXIF: &[u8] = b"Exif\0\0";

#[derive(Default)]
pub(super) enum Walker {
    #[default]
    Riff,
    FirstChunk,
    ChunkHead,
    Exif {
        length: usize,
    },
}

impl Walk for Walker {
    fn first(&self) -> Want {
        Want::next(RIFF_HEADER)
    }

    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match *self {
            Self::Riff => {
                parts.skeleton.extend_from_slice(taken);
                *self = Self::FirstChunk;
                Ok(Want::next(CHUNK_HEAD + DIMENSIONS))
            }
            Self::FirstChunk => self.first_chunk(taken, parts),
            Self::ChunkHead => {
                let length = length(taken);
                if taken.starts_with(b"EXIF") {
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    *self = Self::Exif { length };
                    if length == 0 {
                        Ok(Want::Nothing)
                    } else {
                        Ok(Want::next(length))
                    }
                } else {
                    Ok(Want::Bytes {
                        skip: length + length % 2,
                        take: CHUNK_HEAD,
                    })
                }
            }
            Self::Exif { length } => {
                // Some programs put JPEG's prefix before the block although the format has none.
                let block = &taken[..length];
                parts.exif = Some(block.strip_prefix(EXIF).unwrap_or(block).to_vec());
                Ok(Want::Nothing)
            }
        }
    }
}

impl Walker {
    fn first_chunk(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        let mut chunk = taken.to_vec();
        let data = &mut chunk[CHUNK_HEAD..];
        let want = match &taken[..4] {
            // A key frame, with its start code (RFC 6386 section 9.1); the upper two bits of each side ask for scaling,
            // which nobody does.
            b"VP8 " if data[0] & 1 == 0 && data[3..6] == [0x9d, 0x01, 0x2a] => {
                data[7] &= 0x3f;
                data[9] &= 0x3f;
                Want::Nothing
            }
            b"VP8L" if data[0] == 0x2f => Want::Nothing,
            b"VP8X" => {
                *self = Self::ChunkHead;
                let length = length(taken);
                let rest = (length + length % 2).checked_sub(DIMENSIONS as u64);
                Want::Bytes {
                    skip: rest.ok_or(HeaderFault::Damaged)?,
                    take: CHUNK_HEAD,
                }
            }
            _ => return Err(HeaderFault::Damaged),
        };
        parts.skeleton.append(&mut chunk);
        parts.sized = true;
        Ok(want)
    }
}

fn length(head: &[u8]) -> u64 {
    u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]))
}
