//! Reads size and orientation from a streamed image file, without decoding a pixel.
//!
//! The position of both differs: after megabytes of depth maps in a phone's JPEG, after the image in WebP, after the media data in some
//! HEIC. So no fixed prefix suffices. A parser per format follows the container's framing, keeps the few relevant parts, limited in
//! size, and skips the rest. `imagesize` interprets the item tables of HEIC and AVIF, and `kamadak-exif` the orientation.
//!
//! For formats that this crate decodes, the parsers go on to the end of the first image: a truncated file is refused on arrival,
//! instead of failing in a decoder after its job was accepted.

mod gif;
mod isobmff;
mod jpeg;
mod png;
mod webp;

use std::mem;

use super::{kind::ImageKind, size::Size};
use exif::{In, Tag};

/// The limit for one kept part. An Exif block has at most 64 KiB, the item tables of HEIC have a few.
const MAX_PART: usize = 1 << 20;

/// Why an image cannot be measured. The texts complete a sentence that begins with the name of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// The container's framing is invalid.
    #[error("with a damaged header")]
    Damaged,
    /// The file ended before its dimensions.
    #[error("that ends before its dimensions")]
    TruncatedHeader,
    /// The file ended before the end of its first image.
    #[error("that is cut off before its end")]
    TruncatedImage,
    /// A relevant part has more than 1 MiB.
    #[error("whose header is over 1 MiB")]
    HeaderTooLarge,
}

/// The next bytes that a parser needs. `take` is at least 1.
#[derive(Clone, Copy, Debug)]
enum NextRead {
    /// `take` bytes, after `skip` bytes.
    Bytes {
        skip: u64,
        take: usize,
    },
    /// `take` bytes, after the next occurrence of `byte`.
    After {
        byte: u8,
        take: usize,
    },
    Nothing,
}

impl NextRead {
    fn bytes(take: usize) -> Self {
        Self::Bytes { skip: 0, take }
    }
}

/// The parts that a parser keeps.
#[derive(Debug, Default)]
struct Parts {
    /// As stored, before the orientation is applied.
    size: Option<Size>,
    /// The Exif block, from its TIFF header.
    exif: Option<Vec<u8>>,
    /// Is the end of the first image still missing?
    is_incomplete: bool,
    /// Has a PNG an alpha channel or a list of transparent colours, or a WebP transparent pixels?
    has_alpha: bool,
}

/// Follows the framing of one format.
trait FormatParser {
    /// Processes the requested bytes and returns the next request.
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault>;
}

/// Reads size and orientation of one image.
pub struct HeaderReader {
    parser: Box<dyn FormatParser>,
    next: NextRead,
    taken: Vec<u8>,
    parts: Parts,
}

impl HeaderReader {
    /// `kind` is that of [`ImageKind::from_bytes`]: the parsers do not check the signature again.
    pub fn new(kind: ImageKind) -> Self {
        let (parser, first): (Box<dyn FormatParser>, usize) = match kind {
            ImageKind::Png => (Box::<png::Parser>::default(), png::SIGNATURE),
            ImageKind::Jpeg => (Box::<jpeg::Parser>::default(), jpeg::START),
            ImageKind::WebP => (Box::<webp::Parser>::default(), webp::RIFF_HEADER),
            ImageKind::Gif => (Box::<gif::Parser>::default(), gif::HEADER),
            ImageKind::Heic | ImageKind::Avif => {
                (Box::<isobmff::Parser>::default(), isobmff::BOX_HEAD)
            }
        };
        Self {
            next: NextRead::bytes(first),
            parser,
            taken: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// Processes the next bytes of the file, in chunks of any size.
    ///
    /// # Errors
    /// The framing is invalid or a part is too large. Further bytes cannot repair this.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), HeaderFault> {
        // Terminates: every round but the last consumes a byte, because `take` is at least 1.
        loop {
            let (skip, take) = match self.next {
                NextRead::Bytes { skip, take } => (skip, take),
                NextRead::After { byte, take } => {
                    let Some(at) = bytes.iter().position(|it| *it == byte) else {
                        return Ok(());
                    };
                    bytes = &bytes[at + 1..];
                    (0, take)
                }
                NextRead::Nothing => return Ok(()),
            };
            if take > MAX_PART {
                return Err(HeaderFault::HeaderTooLarge);
            }
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes = &bytes[skipped..];
            let skip = skip - skipped as u64;
            self.next = NextRead::Bytes { skip, take };
            if skip > 0 {
                return Ok(());
            }
            let missing = take - self.taken.len();
            let (now, later) = bytes.split_at(missing.min(bytes.len()));
            self.taken.extend_from_slice(now);
            bytes = later;
            if self.taken.len() < take {
                return Ok(());
            }
            // Reuses the allocation, because a parser may read few bytes many times.
            let mut taken = mem::take(&mut self.taken);
            self.next = self.parser.step(&taken, &mut self.parts)?;
            taken.clear();
            self.taken = taken;
        }
    }

    /// Has the PNG or WebP, whose bytes before the pixels have been pushed, an alpha channel after decoding? False for every other
    /// format.
    pub fn has_alpha(&self) -> bool {
        self.parts.has_alpha
    }

    /// Returns the displayed size of the image, after all bytes have been pushed.
    ///
    /// # Errors
    /// The file ended early.
    pub fn finish(self) -> Result<Size, HeaderFault> {
        let Size { width, height } = self.parts.size.ok_or(HeaderFault::TruncatedHeader)?;
        if self.parts.is_incomplete {
            return Err(HeaderFault::TruncatedImage);
        }
        let (width, height) = match self.parts.exif.is_some_and(swaps_sides) {
            true => (height, width),
            false => (width, height),
        };
        Ok(Size { width, height })
    }
}

/// Orientations 5 to 8 display rows as columns (TIFF 6.0, Exif 3.0 section 4.6.5). Like every viewer, ignores a block that cannot be
/// read.
fn swaps_sides(exif: Vec<u8>) -> bool {
    let mut reader = exif::Reader::new();
    reader.continue_on_error(true);
    let read = reader
        .read_raw(exif)
        .or_else(|error| error.distill_partial_result(|_| {}));
    let orientation = read.ok().and_then(|exif| {
        exif.get_field(Tag::Orientation, In::PRIMARY)?
            .value
            .get_uint(0)
    });
    matches!(orientation, Some(5..=8))
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}
