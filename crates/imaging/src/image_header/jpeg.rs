//! JPEG: marker segments up to the frame header (ITU-T T.81, annex B). Exif (CIPA DC-008) comes before that.

use super::{HeaderFault, Parts, Walk, Want};

/// Sample precision, height and width, behind the length of a frame header.
const FRAME: usize = 7;
const EXIF: &[u8] = b"Exif\0\0";

#[derive(Default)]
pub(super) enum Walker {
    #[default]
    Start,
    Marker,
    /// A marker may be preceded by any number of 0xFF bytes (B.1.1.2).
    Fill,
    Frame {
        marker: u8,
    },
    Length,
    AppLength,
    App,
}

impl Walk for Walker {
    fn first(&self) -> Want {
        Want::next(2)
    }

    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        match *self {
            Self::Start => {
                *self = Self::Marker;
                Ok(Want::next(2))
            }
            Self::Marker if taken[0] != 0xff => Err(HeaderFault::Damaged),
            Self::Marker => self.marker(taken[1], parts),
            Self::Fill => self.marker(taken[0], parts),
            Self::Frame { marker } => {
                parts
                    .skeleton
                    .extend_from_slice(&[0xff, 0xd8, 0xff, marker]);
                parts.skeleton.extend_from_slice(taken);
                // `imagesize` wants at least 12 bytes of any file.
                parts.skeleton.extend_from_slice(&[0xff, 0xd9]);
                parts.sized = true;
                Ok(Want::Nothing)
            }
            Self::Length => {
                let skip = u64::from(body(taken)?);
                *self = Self::Marker;
                Ok(Want::Bytes { skip, take: 2 })
            }
            Self::AppLength => {
                let length = usize::from(body(taken)?);
                *self = Self::App;
                if length == 0 {
                    self.step(&[], parts)
                } else {
                    Ok(Want::next(length))
                }
            }
            Self::App => {
                if let Some(exif) = taken.strip_prefix(EXIF) {
                    parts.exif = Some(exif.to_vec());
                }
                *self = Self::Marker;
                Ok(Want::next(2))
            }
        }
    }
}

impl Walker {
    fn marker(&mut self, marker: u8, parts: &Parts) -> Result<Want, HeaderFault> {
        let take;
        (*self, take) = match marker {
            0xff => (Self::Fill, 1),
            // Start of frame, without the tables and extensions that share its numbers.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => (Self::Frame { marker }, FRAME),
            // Alone, without a segment.
            0x01 | 0xd0..=0xd8 => (Self::Marker, 2),
            // The end, the picture itself, or an escaped byte: no frame header can follow.
            0x00 | 0xd9 | 0xda => return Err(HeaderFault::Damaged),
            0xe1 if parts.exif.is_none() => (Self::AppLength, 2),
            _ => (Self::Length, 2),
        };
        Ok(Want::next(take))
    }
}

/// The length of a segment without the two bytes that say it.
fn body(taken: &[u8]) -> Result<u16, HeaderFault> {
    u16::from_be_bytes([taken[0], taken[1]])
        .checked_sub(2)
        .ok_or(HeaderFault::Damaged)
}
