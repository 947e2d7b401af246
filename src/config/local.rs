//! What the back ends that run on people's own graphics cards have in common.

use super::reader::Field;
use super::values::integer;

/// The largest of the sizes of 1K: what models of the SDXL class were made for.
pub(super) const MAX_PIXELS: u64 = 1_179_648;

/// Most pixels that the model is asked for at a time.
pub(super) fn max_pixels(field: &Field<'_>) -> Option<u64> {
    integer(65_536..=268_435_456)(field)
}
