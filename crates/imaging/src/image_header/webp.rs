//! WebP: RIFF chunks, the first of which contains the size (RFC 9649 section 2). The Exif block, if any, follows the image.
//!
//! Decoders allocate memory by the size in a frame's bitstream, so each frame must have the size that its container declares.

use super::{FormatParser, HeaderFault, NextRead, Parts};
use crate::size::{MAX_SIDE, Size};

pub(super) const RIFF_HEADER: usize = 12;
const CHUNK_HEAD: usize = 8;
/// The first bytes of the first chunk's data, with the dimensions.
const DIMENSIONS: usize = 10;
/// Position, size, duration and flags of an animation frame, before its chunks.
const FRAME_HEADER: usize = 16;
const EXIF: &[u8] = b"Exif\0\0";

/// The bit of the flags of an extended file, and of the fifth byte of a lossless image, that says: some pixels are transparent.
const ALPHA: u8 = 0x10;

/// The bytes that the parser has requested.
#[derive(Clone, Copy, Default)]
pub(super) enum Parser {
    #[default]
    Riff,
    FirstChunk,
    /// The last byte of the chunk that is the whole image.
    Image,
    ChunkHead,
    AnimationFrame {
        length: u64,
    },
    /// The head of a chunk in an animation frame. `rest` is the length of the frame after it.
    AnimationChunk {
        declared: Size,
        rest: u64,
    },
    /// The first bytes of an image chunk. `after` is the length of the animation frame after the chunk.
    Dimensions {
        declared: Size,
        head: [u8; CHUNK_HEAD],
        after: u64,
    },
    /// The last byte of an image chunk. `after` is the length of its padding and of the animation frame after it.
    FrameEnd {
        after: u64,
    },
    Exif {
        length: usize,
    },
}

impl FormatParser for Parser {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        match *self {
            Self::Riff => {
                *self = Self::FirstChunk;
                Ok(NextRead::bytes(CHUNK_HEAD + DIMENSIONS))
            }
            Self::FirstChunk => self.first_chunk(taken, parts),
            Self::Image => {
                parts.is_incomplete = false;
                Ok(NextRead::Nothing)
            }
            Self::ChunkHead => self.chunk(taken, parts),
            Self::AnimationFrame { length } => {
                let declared = u24_size(&taken[6..]);
                let rest = padded(length).checked_sub((FRAME_HEADER + CHUNK_HEAD) as u64);
                let rest = rest.ok_or(HeaderFault::Damaged)?;
                *self = Self::AnimationChunk { declared, rest };
                Ok(NextRead::bytes(CHUNK_HEAD))
            }
            Self::AnimationChunk { declared, rest } => {
                self.animation_chunk(taken, declared, rest, parts)
            }
            Self::Dimensions {
                declared,
                head,
                after,
            } => {
                // The size check refuses a canvas that no frame can have.
                let is_measurable = |canvas: Size| canvas.width.max(canvas.height) <= MAX_SIDE;
                if parts.size.is_some_and(is_measurable)
                    && frame_size(&head, taken) != Some(declared)
                {
                    return Err(HeaderFault::Damaged);
                }
                let length = length(&head);
                let after = after + length % 2;
                *self = Self::FrameEnd { after };
                match length - taken.len() as u64 {
                    0 => Ok(self.frame_end(after, parts)),
                    rest => Ok(last_of(rest)),
                }
            }
            Self::FrameEnd { after } => Ok(self.frame_end(after, parts)),
            Self::Exif { length } => {
                // Some programs prefix the block as in JPEG, although the format has no prefix.
                let block = &taken[..length];
                let block = block.strip_prefix(EXIF).unwrap_or(block).to_vec();
                parts.exif.get_or_insert(block);
                Ok(self.next_chunk(length as u64 % 2))
            }
        }
    }
}

impl Parser {
    fn first_chunk(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        let length = length(taken);
        let (head, data) = taken.split_at(CHUNK_HEAD);
        if head.starts_with(b"VP8X") {
            parts.size = Some(u24_size(&data[4..]));
            parts.has_alpha = data[0] & ALPHA != 0;
            *self = Self::ChunkHead;
        } else {
            parts.size = Some(frame_size(head, data).ok_or(HeaderFault::Damaged)?);
            parts.has_alpha = head.starts_with(b"VP8L") && data[4] & ALPHA != 0;
            *self = Self::Image;
        }
        let rest = length.checked_sub(DIMENSIONS as u64);
        match (*self, rest) {
            (Self::ChunkHead, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(self.next_chunk(rest + length % 2))
            }
            (Self::ChunkHead, None) => Err(HeaderFault::Damaged),
            // The parser has read the whole chunk.
            (_, None | Some(0)) => Ok(NextRead::Nothing),
            (_, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(last_of(rest))
            }
        }
    }

    fn chunk(&mut self, head: &[u8], parts: &Parts) -> Result<NextRead, HeaderFault> {
        let length = length(head);
        match &head[..4] {
            b"EXIF" if length > 0 => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                *self = Self::Exif { length };
                Ok(NextRead::bytes(length))
            }
            b"VP8 " | b"VP8L" => {
                let canvas = parts.size.ok_or(HeaderFault::Damaged)?;
                self.frame(head, canvas, 0)
            }
            b"ANMF" => {
                *self = Self::AnimationFrame { length };
                Ok(NextRead::bytes(FRAME_HEADER))
            }
            _ => Ok(self.next_chunk(padded(length))),
        }
    }

    fn animation_chunk(
        &mut self,
        head: &[u8],
        declared: Size,
        rest: u64,
        parts: &mut Parts,
    ) -> Result<NextRead, HeaderFault> {
        let length = padded(length(head));
        let after = rest.checked_sub(length).ok_or(HeaderFault::Damaged)?;
        match &head[..4] {
            b"VP8 " | b"VP8L" => self.frame(head, declared, after),
            b"ALPH" => {
                let rest = after.checked_sub(CHUNK_HEAD as u64);
                let rest = rest.ok_or(HeaderFault::Damaged)?;
                *self = Self::AnimationChunk { declared, rest };
                Ok(NextRead::Bytes {
                    skip: length,
                    take: CHUNK_HEAD,
                })
            }
            // Decoders refuse it.
            _ if rest == 0 => Ok(self.frame_end(0, parts)),
            _ => {
                *self = Self::FrameEnd { after: 0 };
                Ok(last_of(rest))
            }
        }
    }

    /// Requests the dimensions in an image chunk.
    fn frame(&mut self, head: &[u8], declared: Size, after: u64) -> Result<NextRead, HeaderFault> {
        let take = length(head).min(DIMENSIONS as u64) as usize;
        let head = head.try_into().map_err(|_| HeaderFault::Damaged)?;
        if take == 0 {
            return Err(HeaderFault::Damaged);
        }
        *self = Self::Dimensions {
            declared,
            head,
            after,
        };
        Ok(NextRead::bytes(take))
    }

    fn frame_end(&mut self, after: u64, parts: &mut Parts) -> NextRead {
        parts.is_incomplete = false;
        self.next_chunk(after)
    }

    fn next_chunk(&mut self, skip: u64) -> NextRead {
        *self = Self::ChunkHead;
        NextRead::Bytes {
            skip,
            take: CHUNK_HEAD,
        }
    }
}

/// The size in the first bytes of an image chunk: of a lossy key frame, with its start code (RFC 6386 section 9.1), or of a lossless
/// image. The upper two bits of each side of a lossy frame request scaling, which no decoder does.
fn frame_size(head: &[u8], data: &[u8]) -> Option<Size> {
    match (&head[..4], data) {
        (b"VP8 ", [tag, _, _, 0x9d, 0x01, 0x2a, a, b, c, d, ..]) if tag & 1 == 0 => {
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            let (width, height) = (side(*a, *b), side(*c, *d));
            Some(Size { width, height })
        }
        (b"VP8L", [0x2f, a, b, c, d, ..]) => {
            let sides = u32::from_le_bytes([*a, *b, *c, *d]);
            let (width, height) = ((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1);
            Some(Size { width, height })
        }
        _ => None,
    }
}

/// The last byte of a chunk, whose length must be at least 1.
fn last_of(length: u64) -> NextRead {
    NextRead::Bytes {
        skip: length - 1,
        take: 1,
    }
}

fn length(head: &[u8]) -> u64 {
    u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]))
}

/// A chunk of an odd length ends with a further byte.
fn padded(length: u64) -> u64 {
    length + length % 2
}

/// A size whose sides are stored less 1, in 24 bits each.
fn u24_size(bytes: &[u8]) -> Size {
    let side = |at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]) + 1;
    let (width, height) = (side(0), side(3));
    Size { width, height }
}
