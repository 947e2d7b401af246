//! The credentials of `Authorization: Bearer`.

use actix_web::http::header::{self, HeaderMap};

/// Why there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBearer {
    /// There is no such header.
    Missing,
    /// There is more than one.
    Repeated,
    /// It has another scheme, or none, or nothing behind it.
    Malformed,
}

/// Reads them. What was sent is never repeated in an answer.
pub fn read(headers: &HeaderMap) -> Result<&str, NoBearer> {
    let mut values = headers.get_all(header::AUTHORIZATION);
    let value = values.next().ok_or(NoBearer::Missing)?;
    if values.next().is_some() {
        return Err(NoBearer::Repeated);
    }
    let text = value.to_str().map_err(|_| NoBearer::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(NoBearer::Malformed)?;
    // The scheme's case does not matter (RFC 9110, section 11.1).
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(NoBearer::Malformed);
    }
    Ok(token.trim_start_matches(' '))
}
