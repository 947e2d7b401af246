//! Limits of a request, and the fingerprint to which an idempotency key is bound.

use serde::{Deserialize, Serialize};

/// Input images per request.
pub const MAX_INPUTS: usize = 14;
/// Characters of an input's or a callback's URL.
pub const MAX_URL_CHARS: usize = 2_048;
/// Bytes of the metadata as compact JSON.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;
/// The metadata object itself is level 1.
pub const MAX_METADATA_DEPTH: usize = 32;

/// SHA-256 of a request's meaning: equal for requests that differ only in form, such as member order or blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);
