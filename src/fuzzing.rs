//! Exposes private parsers of untrusted bytes to the fuzz targets in `tests/fuzz`.

use crate::objects::{FileSigningKey, UrlFault, signed_url};
use chrono::{DateTime, Utc};

pub use crate::api::generation::{Endpoint, parse as parse_generation};
pub use crate::application::submission::generation_request::{GenerationRequest, Input, Shape};
pub use crate::compat::request_body::scanner::{ImageFields, MAX_DEPTH, Piece, ScanFault, Scanner};

/// Signs the download URL of an object.
pub fn write_url(
    signing_key: &FileSigningKey,
    object: &str,
    now: DateTime<Utc>,
    lifetime_seconds: u64,
) -> String {
    signed_url::write("", signing_key, object, now, lifetime_seconds)
}

/// Verifies a download URL. Returns the object's key and the remaining seconds. `raw_key` and `query` are still percent-encoded.
///
/// # Errors
/// The signature is wrong, or the URL has expired.
pub fn open_url(
    signing_key: &FileSigningKey,
    raw_key: &str,
    query: &str,
    now: DateTime<Utc>,
) -> Result<(String, u64), UrlFault> {
    let grant = signed_url::read(signing_key, raw_key, query, now)?;
    Ok((grant.key, grant.remaining_seconds))
}
