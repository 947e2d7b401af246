//! Reads the header of an image while its bytes stream by: how large it is and how it lies, without decoding a pixel.
//!
//! Where that stands differs: behind megabytes of depth maps in a phone's JPEG, after the picture in WebP, after the media
//! data in some HEIC. So nothing is read back and no prefix is guessed at: a walker per format follows the container's
//! framing, keeps the few parts that matter, bounded in size, and skips the rest. What the parts say is left to
//! `imagesize` and `kamadak-exif`, which get a file of those parts only. No pixel is decoded here.
//!
//! The walkers of the formats that are decoded here go on to the end of the first picture: a file that is cut off is refused when it
//! arrives, and not by a decoder once its job has been accepted.

mod gif;
mod isobmff;
mod jpeg;
mod measure;
mod png;
mod webp;

use std::mem;

use super::{kind::ImageKind, size::Size};
use measure::measure;

/// The most that is kept of one part: an Exif block is at most 64 KiB, the item tables of HEIC a few.
const MAX_PART: usize = 1 << 20;

/// Why an image cannot be measured. The texts complete a sentence that begins with the name of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// The container's framing is broken.
    #[error("with a damaged header")]
    Damaged,
    /// It ended before it had said how large it is.
    #[error("that ends before its dimensions")]
    Truncated,
    /// Its first picture has no end.
    #[error("that is cut off before its end")]
    CutOff,
    /// A part that has to be kept is over 1 MiB.
    #[error("whose header is over 1 MiB")]
    HeaderTooLarge,
}

/// What a walker wants next: so many bytes passed over, then so many, at least one, handed to it.
#[derive(Clone, Copy, Debug)]
enum Want {
    Bytes {
        skip: u64,
        take: usize,
    },
    /// Everything up to and including the next such byte passed over, then so many, at least one, handed to it.
    After {
        byte: u8,
        take: usize,
    },
    Nothing,
}

impl Want {
    fn next(take: usize) -> Self {
        Self::Bytes { skip: 0, take }
    }
}

/// The parts that were kept.
#[derive(Debug, Default)]
struct Parts {
    /// A small file of the same format, for `imagesize`.
    skeleton: Vec<u8>,
    /// The Exif block, from its TIFF header on.
    exif: Option<Vec<u8>>,
    /// Whether the skeleton says how large the image is.
    sized: bool,
    /// Whether the end of the first picture has not been seen yet.
    is_open: bool,
}

/// The framing of one format.
trait Walk {
    /// What to begin with.
    fn first(&self) -> Want;
    /// Gets the bytes that were asked for.
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault>;
}

/// Reads the header of one image.
pub struct HeaderReader {
    walker: Box<dyn Walk>,
    want: Want,
    taken: Vec<u8>,
    parts: Parts,
}

impl HeaderReader {
    /// Begins with an image whose format has been recognised.
    pub fn new(kind: ImageKind) -> Self {
        let walker: Box<dyn Walk> = match kind {
            ImageKind::Png => Box::<png::Walker>::default(),
            ImageKind::Jpeg => Box::<jpeg::Walker>::default(),
            ImageKind::WebP => Box::<webp::Walker>::default(),
            ImageKind::Gif => Box::<gif::Walker>::default(),
            ImageKind::Heic | ImageKind::Avif => Box::<isobmff::Walker>::default(),
        };
        Self {
            want: walker.first(),
            walker,
            taken: Vec::new(),
            parts: Parts::default(),
        }
    }

    /// Takes the next bytes of the file, in pieces of any size.
    ///
    /// # Errors
    /// The framing is broken or a part too large; nothing that follows can make it good.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), HeaderFault> {
        // Bounded by the bytes: every round but the last uses up at least one, as no walker asks for none.
        loop {
            let (skip, take) = match self.want {
                Want::Bytes { skip, take } => (skip, take),
                Want::After { byte, take } => {
                    let Some(at) = bytes.iter().position(|it| *it == byte) else {
                        return Ok(());
                    };
                    bytes = &bytes[at + 1..];
                    (0, take)
                }
                Want::Nothing => return Ok(()),
            };
            if take > MAX_PART {
                return Err(HeaderFault::HeaderTooLarge);
            }
            let passed = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes = &bytes[passed..];
            let skip = skip - passed as u64;
            self.want = Want::Bytes { skip, take };
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
            // A walker may take few bytes many times: the allocation is used again.
            let mut taken = mem::take(&mut self.taken);
            self.want = self.walker.step(&taken, &mut self.parts)?;
            taken.clear();
            self.taken = taken;
        }
    }

    /// The size of the image as it is meant to be seen, when all bytes have been pushed.
    ///
    /// # Errors
    /// The file ended early, or its parts contradict its framing.
    pub fn finish(self) -> Result<Size, HeaderFault> {
        if !self.parts.sized {
            return Err(HeaderFault::Truncated);
        }
        if self.parts.is_open {
            return Err(HeaderFault::CutOff);
        }
        measure(&self.parts.skeleton, self.parts.exif)
    }
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk()?))
}
