//! What reads bytes from outside and has no public name otherwise, for the fuzz targets of `tests/fuzz` alone.

use crate::images::FileError;
use crate::images::FileSigningKey;
use crate::images::signed_url;
use chrono::{DateTime, Utc};

pub use crate::api::generation::{Endpoint, parse as parse_generation};
pub use crate::application::generation_request::{GenerationRequest, Input, Shape};
pub use crate::compat::scanner::{MAX_DEPTH, Piece, ScanFault, Scanner};

/// The download address of an object, as a caller is given it.
pub fn write_url(
    signing_key: &FileSigningKey,
    object: &str,
    now: DateTime<Utc>,
    lifetime_seconds: u64,
) -> String {
    signed_url::write("", signing_key, object, now, lifetime_seconds)
}

/// What an address opens: the object's name, and for how many seconds more. `raw_key` and `query` are as they came.
///
/// # Errors
/// It is none of ours, or no longer good.
pub fn open_url(
    signing_key: &FileSigningKey,
    raw_key: &str,
    query: &str,
    now: DateTime<Utc>,
) -> Result<(String, u64), FileError> {
    let grant = signed_url::read(signing_key, raw_key, query, now)?;
    Ok((grant.key, grant.remaining_seconds))
}
