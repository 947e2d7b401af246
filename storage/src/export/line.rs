//! The three kinds of lines.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The longest line. A record of at most 16 KiB stays far below it, however JSON escapes it.
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
    /// In hexadecimal, of all lines before, including their line feeds.
    pub sha256: String,
}

/// Replaces the trailer if the export could not be completed.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GivenUp {
    pub given_up: String,
}
