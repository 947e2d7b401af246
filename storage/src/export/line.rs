//! The three kinds of lines.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest line. A record of the 16 KiB that an engine takes stays far below it, whatever JSON escapes of it.
pub const MAX_LINE_BYTES: usize = 1 << 20;

#[derive(Deserialize, Serialize)]
pub struct Header {
    pub tintype_export: u32,
    /// The program and its version, for people.
    pub written_by: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Line<'a> {
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// In hexadecimal.
    #[serde(borrow)]
    pub key: Cow<'a, str>,
    #[serde(borrow)]
    pub record: &'a RawValue,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Trailer {
    pub records: u64,
    /// Of all lines before, with their line feeds, in hexadecimal.
    pub sha256: String,
}

/// What stands in the place of the last line when the writing was given up.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GivenUp {
    pub given_up: String,
}
