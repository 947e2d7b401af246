//! Bounds of what a caller may ask for, and what an idempotency key is bound to.

use serde::{Deserialize, Serialize};

/// Input images that one request may name.
pub const MAX_INPUTS: usize = 14;
/// Characters of an input's or a callback's URL.
pub const MAX_URL_CHARS: usize = 2_048;
/// Bytes of the metadata as compact JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// How deep metadata may be nested; the object itself is level 1.
pub const MAX_METADATA_DEPTH: usize = 32;

/// SHA-256 of what a request means: equal for a repeat in other words, such as another member order or more blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);
