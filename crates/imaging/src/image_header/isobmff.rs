//! HEIC and AVIF: boxes of an ISO base media file (ISO/IEC 14496-12 section 4.2). The `meta` box describes the images, and may
//! precede or follow them.

use super::{FormatParser, HeaderFault, NextRead, Parts, be32};
use crate::size::Size;

/// Size and type.
pub(super) const BOX_HEAD: usize = 8;
/// A size of 1 means that the real size follows in 64 bits.
const LARGE: u32 = 1;

#[derive(Default)]
pub(super) struct Parser {
    state: State,
    /// A file of the boxes `ftyp` and `meta` only, for `imagesize`.
    skeleton: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Head,
    LargeSize {
        kind: [u8; 4],
    },
    Body {
        kind: [u8; 4],
    },
}

impl FormatParser for Parser {
    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<NextRead, HeaderFault> {
        match self.state {
            State::Head => {
                let size = be32(taken).ok_or(HeaderFault::Damaged)?;
                let kind = [taken[4], taken[5], taken[6], taken[7]];
                if size == LARGE {
                    self.state = State::LargeSize { kind };
                    return Ok(NextRead::bytes(8));
                }
                // A size of 0 means up to the end of the file, so that no `meta` box can follow. Encoders do not use it for `meta`.
                self.body(kind, u64::from(size).checked_sub(8))
            }
            State::LargeSize { kind } => {
                let size = taken.first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
                self.body(kind, size.and_then(|size| size.checked_sub(16)))
            }
            State::Body { kind } => {
                // A file has one `ftyp`. More of them would exceed the limit of a part together.
                if kind == *b"ftyp" && !self.skeleton.is_empty() {
                    return Err(HeaderFault::Damaged);
                }
                self.skeleton
                    .extend_from_slice(&(BOX_HEAD as u32 + taken.len() as u32).to_be_bytes());
                self.skeleton.extend_from_slice(&kind);
                self.skeleton.extend_from_slice(taken);
                if kind == *b"meta" {
                    parts.size = Some(measure(&self.skeleton)?);
                    return Ok(NextRead::Nothing);
                }
                self.state = State::Head;
                Ok(NextRead::bytes(BOX_HEAD))
            }
        }
    }
}

impl Parser {
    fn body(&mut self, kind: [u8; 4], length: Option<u64>) -> Result<NextRead, HeaderFault> {
        let length = length.ok_or(HeaderFault::Damaged)?;
        if matches!(&kind, b"ftyp" | b"meta") {
            self.state = State::Body { kind };
            let take = usize::try_from(length).unwrap_or(usize::MAX);
            return if take == 0 {
                Err(HeaderFault::Damaged)
            } else {
                Ok(NextRead::bytes(take))
            };
        }
        self.state = State::Head;
        Ok(NextRead::Bytes {
            skip: length,
            take: BOX_HEAD,
        })
    }
}

/// # Errors
/// The boxes are not valid.
fn measure(skeleton: &[u8]) -> Result<Size, HeaderFault> {
    let stored = imagesize::blob_size(skeleton).map_err(|_| HeaderFault::Damaged)?;
    // No format has sides above 32 bits. A saturated side is refused as too large.
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    let (width, height) = (side(stored.width), side(stored.height));
    Ok(Size { width, height })
}
