//! Error responses in the format of RFC 9457.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// An error response. A client needs only `title` and `detail`: a proxy may send no more.
#[derive(Debug, Serialize, Deserialize)]
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
    /// The same error in the format of another API, for an SDK of that API with a wrong base URL. Such SDKs show no other member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Fault<'a> {
    pub field: Cow<'a, str>,
    pub message: Cow<'a, str>,
}
