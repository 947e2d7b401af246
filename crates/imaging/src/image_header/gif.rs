//! GIF: the size of the logical screen stands at a fixed place, blocks follow (GIF89a sections 12 to 22). The first image is all that
//! is decoded, so no further one and no trailer is asked for.

use super::{HeaderFault, Parts, Walk, Want};

/// Signature, version, width, height, flags, background and aspect of the pixels.
const HEADER: usize = 13;
/// Where the flags stand in it.
const FLAGS: usize = 10;
/// Place, size and flags of an image, behind its introducer.
const DESCRIPTOR: usize = 9;
/// The least size of a code, before the pixels.
const CODE_SIZE: u64 = 1;

#[derive(Default)]
pub(super) enum Walker {
    #[default]
    Header,
    /// The byte that introduces a block.
    Block,
    Descriptor,
    /// The length of a part of a block; 0 ends the block.
    Part {
        is_image: bool,
    },
}

impl Walk for Walker {
    fn first(&self) -> Want {
        Want::next(HEADER)
    }

    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match *self {
            Self::Header => {
                parts.skeleton.extend_from_slice(taken);
                parts.sized = true;
                parts.is_open = true;
                *self = Self::Block;
                Ok(behind(colours(taken[FLAGS])))
            }
            Self::Block => match taken[0] {
                // An extension: its label, then its parts.
                0x21 => {
                    *self = Self::Part { is_image: false };
                    Ok(behind(1))
                }
                0x2c => {
                    *self = Self::Descriptor;
                    Ok(Want::next(DESCRIPTOR))
                }
                // The trailer, before any image.
                0x3b => Ok(Want::Nothing),
                _ => Err(HeaderFault::Damaged),
            },
            Self::Descriptor => {
                *self = Self::Part { is_image: true };
                Ok(behind(colours(taken[DESCRIPTOR - 1]) + CODE_SIZE))
            }
            Self::Part { is_image } => match (taken[0], is_image) {
                (0, true) => {
                    parts.is_open = false;
                    Ok(Want::Nothing)
                }
                (0, false) => {
                    *self = Self::Block;
                    Ok(Want::next(1))
                }
                (length, _) => Ok(behind(u64::from(length))),
            },
        }
    }
}

/// One byte behind so many others.
fn behind(skip: u64) -> Want {
    Want::Bytes { skip, take: 1 }
}

/// Bytes of a table of colours, as the flags before it say.
fn colours(flags: u8) -> u64 {
    match flags & 0x80 {
        0 => 0,
        _ => 3 << ((flags & 7) + 1),
    }
}
