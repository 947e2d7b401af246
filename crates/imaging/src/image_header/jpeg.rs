//! JPEG: marker segments and, after the first scan header, coded pixels up to the end of the image (ITU-T T.81, annex B). Exif
//! (CIPA DC-008) precedes the frame header. Decoders silently fill the missing part of a truncated file with grey.

use super::{FormatParser, HeaderFault, NextRead, Parts};
use crate::size::Size;

/// The marker before all segments.
pub(super) const START: usize = 2;
/// The length of a frame header, sample precision, height and width.
const FRAME: usize = 7;
const EXIF: &[u8] = b"Exif\0\0";
/// Coded pixels, up to 0xFF and the byte after it.
const PIXELS: NextRead = NextRead::After {
    byte: 0xff,
    take: 1,
};

#[derive(Default)]
pub(super) enum Parser {
    #[default]
    Start,
    Marker,
    /// A marker may be preceded by any number of 0xFF bytes (B.1.1.2).
    Fill,
    Frame,
    Length,
    AppLength,
    App,
    ScanLength,
    /// The byte after 0xFF in coded pixels.
    Scan,
}

impl FormatParser for Parser {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        match *self {
            Self::Start => {
                *self = Self::Marker;
                Ok(NextRead::bytes(2))
            }
            Self::Marker if taken[0] != 0xff => Err(HeaderFault::Damaged),
            Self::Marker => self.marker(taken[1], parts),
            Self::Fill => self.marker(taken[0], parts),
            Self::Frame => {
                let side = |at| u32::from(u16::from_be_bytes([taken[at], taken[at + 1]]));
                let (height, width) = (side(3), side(5));
                parts.size = Some(Size { width, height });
                parts.is_incomplete = true;
                *self = Self::Marker;
                // The rest of the segment, after the bytes already read.
                let skip = u64::from(body(taken)?).checked_sub((FRAME - 2) as u64);
                let skip = skip.ok_or(HeaderFault::Damaged)?;
                Ok(NextRead::Bytes { skip, take: 2 })
            }
            Self::Length => {
                let skip = u64::from(body(taken)?);
                *self = Self::Marker;
                Ok(NextRead::Bytes { skip, take: 2 })
            }
            Self::AppLength => {
                let length = usize::from(body(taken)?);
                *self = Self::App;
                if length == 0 {
                    self.step(&[], parts)
                } else {
                    Ok(NextRead::bytes(length))
                }
            }
            Self::App => {
                if let Some(exif) = taken.strip_prefix(EXIF) {
                    parts.exif = Some(exif.to_vec());
                }
                *self = Self::Marker;
                Ok(NextRead::bytes(2))
            }
            Self::ScanLength => {
                body(taken)?;
                *self = Self::Scan;
                Ok(PIXELS)
            }
            // Skips escaped bytes, restarts and the headers of further scans like pixels.
            Self::Scan => match taken[0] {
                0xd9 => {
                    parts.is_incomplete = false;
                    Ok(NextRead::Nothing)
                }
                0xff => Ok(NextRead::bytes(1)),
                _ => Ok(PIXELS),
            },
        }
    }
}

impl Parser {
    fn marker(&mut self, marker: u8, parts: &Parts) -> Result<NextRead, HeaderFault> {
        let take;
        (*self, take) = match marker {
            0xff => (Self::Fill, 1),
            0xda if parts.size.is_some() => (Self::ScanLength, 2),
            // Start of frame, without the tables and extensions in the same range.
            0xc0..=0xcf if parts.size.is_none() && !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                (Self::Frame, FRAME)
            }
            // Markers without a segment.
            0x01 | 0xd0..=0xd8 => (Self::Marker, 2),
            // The end, a scan before the frame header, or an escaped byte.
            0x00 | 0xd9 | 0xda => return Err(HeaderFault::Damaged),
            0xe1 if parts.exif.is_none() => (Self::AppLength, 2),
            _ => (Self::Length, 2),
        };
        Ok(NextRead::bytes(take))
    }
}

/// The length of a segment without its two length bytes.
fn body(taken: &[u8]) -> Result<u16, HeaderFault> {
    u16::from_be_bytes([taken[0], taken[1]])
        .checked_sub(2)
        .ok_or(HeaderFault::Damaged)
}
