//! Parses `Authorization: Bearer`.

use crate::web::headers::single;
use actix_web::http::header::{self, HeaderMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBearer {
    Missing,
    /// More than one header.
    Repeated,
    /// Another scheme, or no token.
    Malformed,
}

/// Errors never repeat the header, which may contain a secret.
pub fn read(headers: &HeaderMap) -> Result<&str, NoBearer> {
    let value = single(headers, &header::AUTHORIZATION);
    let value = value.map_err(|_| NoBearer::Repeated)?;
    let value = value.ok_or(NoBearer::Missing)?;
    let text = value.to_str().map_err(|_| NoBearer::Malformed)?;
    let (scheme, token) = text.split_once(' ').ok_or(NoBearer::Malformed)?;
    // The scheme is case-insensitive (RFC 9110, section 11.1).
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(NoBearer::Malformed);
    }
    Ok(token.trim_start_matches(' '))
}
