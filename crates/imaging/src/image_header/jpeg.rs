//! JPEG: marker segments and, behind the first scan header, coded pixels up to the end of the image (ITU-T T.81, annex B). Exif
//! (CIPA DC-008) comes before the frame header. Decoders paint grey what a file lacks that was cut off, and say nothing.

use super::{HeaderFault, Parts, Walk, Want};

/// Sample precision, height and width, behind the length of a frame header.
const FRAME: usize = 7;
const EXIF: &[u8] = b"Exif\0\0";
/// Coded pixels, up to an 0xFF with what follows it.
const PIXELS: Want = Want::After {
    byte: 0xff,
    take: 1,
};

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
    ScanLength,
    /// What follows an 0xFF within coded pixels.
    Scan,
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
                parts.is_open = true;
                *self = Self::Marker;
                // The rest of the segment, but for the length and what was taken.
                let skip = u64::from(body(taken)?).checked_sub((FRAME - 2) as u64);
                let skip = skip.ok_or(HeaderFault::Damaged)?;
                Ok(Want::Bytes { skip, take: 2 })
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
            Self::ScanLength => {
                body(taken)?;
                *self = Self::Scan;
                Ok(PIXELS)
            }
            // Escaped bytes, restarts and the headers of further scans: their bytes are passed over like pixels.
            Self::Scan => match taken[0] {
                0xd9 => {
                    parts.is_open = false;
                    Ok(Want::Nothing)
                }
                0xff => Ok(Want::next(1)),
                _ => Ok(PIXELS),
            },
        }
    }
}

impl Walker {
    fn marker(&mut self, marker: u8, parts: &Parts) -> Result<Want, HeaderFault> {
        let take;
        (*self, take) = match marker {
            0xff => (Self::Fill, 1),
            0xda if parts.sized => (Self::ScanLength, 2),
            // Start of frame, without the tables and extensions that share its numbers.
            0xc0..=0xcf if !parts.sized && !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                (Self::Frame { marker }, FRAME)
            }
            // Alone, without a segment.
            0x01 | 0xd0..=0xd8 => (Self::Marker, 2),
            // The end, the picture itself before its frame header, or an escaped byte.
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
