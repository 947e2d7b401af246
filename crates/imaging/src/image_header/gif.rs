//! GIF: the size of the logical screen stands at a fixed place (GIF89a section 18).

use super::{HeaderFault, Parts, Walk, Want};

/// Signature, version, width and height.
const HEADER: usize = 10;

pub(super) struct Walker;

impl Walk for Walker {
    fn first(&self) -> Want {
        // `imagesize` wants at least 12 bytes of any file; the two more are flags and background.
        Want::next(HEADER + 2)
    }

    fn step(&mut self, taken: &[u8], parts: &mut Parts) -> Result<Want, HeaderFault> {
        parts.skeleton.extend_from_slice(taken);
        parts.sized = true;
        Ok(Want::Nothing)
    }
}
