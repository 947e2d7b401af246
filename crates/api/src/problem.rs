//! Error answers, as RFC 9457 has them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An error answer. A reader needs only `title` and `detail`, which proxies send as well.
#[derive(Serialize, Deserialize)]
pub struct Problem<'a> {
    #[serde(default)]
    pub r#type: Cow<'a, str>,
    pub title: Cow<'a, str>,
    #[serde(default)]
    pub status: u16,
    pub detail: Cow<'a, str>,
    #[serde(default)]
    pub code: Cow<'a, str>,
    #[serde(default)]
    pub request_id: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Fault<'a>>,
}

/// A faulty field.
#[derive(Serialize, Deserialize)]
pub struct Fault<'a> {
    pub field: Cow<'a, str>,
    pub message: Cow<'a, str>,
}
