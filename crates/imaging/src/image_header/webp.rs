//! WebP: RIFF chunks, the first of which contains the size (RFC 9649 section 2). The Exif block, if any, follows the image.
//!
//! Decoders allocate memory by the size in a frame's bitstream, so each frame must have the size that its container declares.

use super::{HeaderFault, Parts, Walk, Want};
use crate::size::MAX_SIDE;

pub(super) const RIFF_HEADER: usize = 12;
const CHUNK_HEAD: usize = 8;
/// The first bytes of the first chunk's data, with the dimensions.
const DIMENSIONS: usize = 10;
/// Position, size, duration and flags of an animation frame, before its chunks.
const FRAME_HEADER: usize = 16;
const EXIF: &[u8] = b"Exif\0\0";

/// The bit of the flags of an extended file, and of the fifth byte of a lossless image, that says: some pixels are transparent.
const ALPHA: u8 = 0x10;

/// Width and height.
type Sides = (u32, u32);

#[derive(Default)]
pub(super) struct Walker {
    state: State,
    canvas: Sides,
}

/// The bytes that the walker has requested.
#[derive(Clone, Copy, Default)]
enum State {
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
        declared: Sides,
        rest: u64,
    },
    /// The first bytes of an image chunk. `after` is the length of the animation frame after the chunk.
    Dimensions {
        declared: Sides,
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

impl Walk for Walker {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match self.state {
            State::Riff => {
                parts.skeleton.extend_from_slice(taken);
                self.state = State::FirstChunk;
                Ok(Want::next(CHUNK_HEAD + DIMENSIONS))
            }
            State::FirstChunk => self.first_chunk(taken, parts),
            State::Image => {
                parts.is_incomplete = false;
                Ok(Want::Nothing)
            }
            State::ChunkHead => self.chunk(taken),
            State::AnimationFrame { length } => {
                let declared = (u24(&taken[6..]) + 1, u24(&taken[9..]) + 1);
                let rest = padded(length).checked_sub((FRAME_HEADER + CHUNK_HEAD) as u64);
                let rest = rest.ok_or(HeaderFault::Damaged)?;
                self.state = State::AnimationChunk { declared, rest };
                Ok(Want::next(CHUNK_HEAD))
            }
            State::AnimationChunk { declared, rest } => {
                self.animation_chunk(taken, declared, rest, parts)
            }
            State::Dimensions {
                declared,
                head,
                after,
            } => {
                // The size check refuses a canvas that no frame can have.
                let is_measurable = self.canvas.0.max(self.canvas.1) <= MAX_SIDE;
                if is_measurable && frame_size(&head, taken) != Some(declared) {
                    return Err(HeaderFault::Damaged);
                }
                let length = length(&head);
                let after = after + length % 2;
                self.state = State::FrameEnd { after };
                match length - taken.len() as u64 {
                    0 => Ok(self.frame_end(after, parts)),
                    rest => Ok(last_of(rest)),
                }
            }
            State::FrameEnd { after } => Ok(self.frame_end(after, parts)),
            State::Exif { length } => {
                // Some programs prefix the block as in JPEG, although the format has no prefix.
                let block = &taken[..length];
                let block = block.strip_prefix(EXIF).unwrap_or(block).to_vec();
                parts.exif.get_or_insert(block);
                Ok(self.next_chunk(length as u64 % 2))
            }
        }
    }
}

impl Walker {
    fn first_chunk(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        let mut chunk = taken.to_vec();
        let length = length(taken);
        let (head, data) = chunk.split_at_mut(CHUNK_HEAD);
        if head.starts_with(b"VP8X") {
            self.canvas = (u24(&data[4..]) + 1, u24(&data[7..]) + 1);
            parts.has_alpha = data[0] & ALPHA != 0;
            self.state = State::ChunkHead;
        } else if frame_size(head, data).is_some() {
            if head.starts_with(b"VP8 ") {
                // The upper two bits of each side request scaling, which no decoder does.
                data[7] &= 0x3f;
                data[9] &= 0x3f;
            } else {
                parts.has_alpha = data[4] & ALPHA != 0;
            }
            self.state = State::Image;
        } else {
            return Err(HeaderFault::Damaged);
        }
        parts.skeleton.append(&mut chunk);
        parts.has_size = true;
        let rest = length.checked_sub(DIMENSIONS as u64);
        match (self.state, rest) {
            (State::ChunkHead, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(self.next_chunk(rest + length % 2))
            }
            (State::ChunkHead, None) => Err(HeaderFault::Damaged),
            // The walker has read the whole chunk.
            (_, None | Some(0)) => Ok(Want::Nothing),
            (_, Some(rest)) => {
                parts.is_incomplete = true;
                Ok(last_of(rest))
            }
        }
    }

    fn chunk(&mut self, head: &[u8]) -> Result<Want, HeaderFault> {
        let length = length(head);
        match &head[..4] {
            b"EXIF" if length > 0 => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                self.state = State::Exif { length };
                Ok(Want::next(length))
            }
            b"VP8 " | b"VP8L" => self.frame(head, self.canvas, 0),
            b"ANMF" => {
                self.state = State::AnimationFrame { length };
                Ok(Want::next(FRAME_HEADER))
            }
            _ => Ok(self.next_chunk(padded(length))),
        }
    }

    fn animation_chunk(
        &mut self,
        head: &[u8],
        declared: Sides,
        rest: u64,
        parts: &mut Parts,
    ) -> Result<Want, HeaderFault> {
        let length = padded(length(head));
        let after = rest.checked_sub(length).ok_or(HeaderFault::Damaged)?;
        match &head[..4] {
            b"VP8 " | b"VP8L" => self.frame(head, declared, after),
            b"ALPH" => {
                let rest = after.checked_sub(CHUNK_HEAD as u64);
                let rest = rest.ok_or(HeaderFault::Damaged)?;
                self.state = State::AnimationChunk { declared, rest };
                Ok(Want::Bytes {
                    skip: length,
                    take: CHUNK_HEAD,
                })
            }
            // Decoders refuse it.
            _ if rest == 0 => Ok(self.frame_end(0, parts)),
            _ => {
                self.state = State::FrameEnd { after: 0 };
                Ok(last_of(rest))
            }
        }
    }

    /// Requests the dimensions in an image chunk.
    fn frame(&mut self, head: &[u8], declared: Sides, after: u64) -> Result<Want, HeaderFault> {
        let take = length(head).min(DIMENSIONS as u64) as usize;
        let head = head.try_into().map_err(|_| HeaderFault::Damaged)?;
        if take == 0 {
            return Err(HeaderFault::Damaged);
        }
        self.state = State::Dimensions {
            declared,
            head,
            after,
        };
        Ok(Want::next(take))
    }

    fn frame_end(&mut self, after: u64, parts: &mut Parts) -> Want {
        parts.is_incomplete = false;
        self.next_chunk(after)
    }

    fn next_chunk(&mut self, skip: u64) -> Want {
        self.state = State::ChunkHead;
        Want::Bytes {
            skip,
            take: CHUNK_HEAD,
        }
    }
}

/// The size in the first bytes of an image chunk: of a lossy key frame, with its start code (RFC 6386 section 9.1), or of a lossless
/// image.
fn frame_size(head: &[u8], data: &[u8]) -> Option<Sides> {
    match (&head[..4], data) {
        (b"VP8 ", [tag, _, _, 0x9d, 0x01, 0x2a, a, b, c, d, ..]) if tag & 1 == 0 => {
            let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
            Some((side(*a, *b), side(*c, *d)))
        }
        (b"VP8L", [0x2f, a, b, c, d, ..]) => {
            let sides = u32::from_le_bytes([*a, *b, *c, *d]);
            Some(((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1))
        }
        _ => None,
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

/// A chunk of an odd length ends with a further byte.
fn padded(length: u64) -> u64 {
    length + length % 2
}

fn u24(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
}
