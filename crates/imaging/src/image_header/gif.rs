//! GIF: the size of the logical screen at a fixed offset, and blocks (GIF89a sections 12 to 22). Only the first image is decoded, so
//! further images and the trailer are not required. The decoder allocates memory for the whole image, so it may not be larger than the
//! screen.

use super::{FormatParser, HeaderFault, NextRead, Parts};
use crate::size::Size;

/// Signature, version, width, height, flags, background and aspect of the pixels.
pub(super) const HEADER: usize = 13;
/// The offset of the flags in the header.
const FLAGS: usize = 10;
/// Position, size and flags of an image, after its introducer.
const DESCRIPTOR: usize = 9;
/// The offset of width and height in the header, and in a descriptor.
const SCREEN_SIDES: usize = 6;
const IMAGE_SIDES: usize = 4;
/// The minimum code size, before the pixels.
const CODE_SIZE: u64 = 1;

#[derive(Default)]
pub(super) enum Parser {
    #[default]
    Header,
    /// The byte that introduces a block.
    Block,
    Descriptor,
    /// The length of a sub-block. 0 ends the block.
    Part {
        is_image: bool,
    },
}

impl FormatParser for Parser {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        match *self {
            Self::Header => {
                parts.size = Some(size(&taken[SCREEN_SIDES..]));
                parts.is_incomplete = true;
                *self = Self::Block;
                Ok(after(colours(taken[FLAGS])))
            }
            Self::Block => match taken[0] {
                // An extension: its label, then its sub-blocks.
                0x21 => {
                    *self = Self::Part { is_image: false };
                    Ok(after(1))
                }
                0x2c => {
                    *self = Self::Descriptor;
                    Ok(NextRead::bytes(DESCRIPTOR))
                }
                // The trailer, before any image.
                0x3b => Ok(NextRead::Nothing),
                _ => Err(HeaderFault::Damaged),
            },
            Self::Descriptor => {
                let image = size(&taken[IMAGE_SIDES..]);
                let fits =
                    |screen: Size| image.width <= screen.width && image.height <= screen.height;
                if !parts.size.is_some_and(fits) {
                    return Err(HeaderFault::Damaged);
                }
                *self = Self::Part { is_image: true };
                Ok(after(colours(taken[DESCRIPTOR - 1]) + CODE_SIZE))
            }
            Self::Part { is_image } => match (taken[0], is_image) {
                (0, true) => {
                    parts.is_incomplete = false;
                    Ok(NextRead::Nothing)
                }
                (0, false) => {
                    *self = Self::Block;
                    Ok(NextRead::bytes(1))
                }
                (length, _) => Ok(after(u64::from(length))),
            },
        }
    }
}

/// One byte after `skip` others.
fn after(skip: u64) -> NextRead {
    NextRead::Bytes { skip, take: 1 }
}

fn size(bytes: &[u8]) -> Size {
    let side = |at| u32::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (width, height) = (side(0), side(2));
    Size { width, height }
}

/// The length of a colour table, from the flags.
fn colours(flags: u8) -> u64 {
    match flags & 0x80 {
        0 => 0,
        _ => 3 << ((flags & 7) + 1),
    }
}
