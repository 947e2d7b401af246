//! Settings that backends on a local GPU share.

use super::reader::Field;
use super::values::integer;

/// The largest 1K size: SDXL models are trained for it.
pub(super) const MAX_PIXELS: u64 = 1_179_648;

pub(super) fn max_pixels(field: &Field<'_>) -> Option<u64> {
    integer(65_536..=268_435_456)(field)
}
