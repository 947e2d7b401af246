//! Error responses in the format of RFC 9457.

use crate::fields::FieldFault;
use crate::schema::Integer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

// A client needs only `title` and `detail`: a proxy may send no more.
/// An error (RFC 9457). Distinguish errors by `code`, which never changes, not by `detail`, which is for people.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem<'a> {
    /// Always the same; distinguish errors by `code`.
    #[serde(default)]
    #[schemars(!default, extend("const" = "about:blank"))]
    pub r#type: Cow<'a, str>,
    /// The kind of error, for people.
    pub title: Cow<'a, str>,
    /// The HTTP status.
    #[serde(default)]
    #[schemars(!default, with = "Integer")]
    pub status: u16,
    /// What failed and what to do.
    pub detail: Cow<'a, str>,
    /// The stable identifier for programs.
    #[serde(default)]
    #[schemars(!default)]
    pub code: Cow<'a, str>,
    /// Include it when you ask the operator for help.
    #[serde(default)]
    #[schemars(!default)]
    pub request_id: Cow<'a, str>,
    /// Only with `validation_failed`, all invalid fields, and with `idempotency_key_reused`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub errors: Vec<FieldFault>,
    /// The same error in the format of another API, for an SDK of that API with a wrong base URL. Such SDKs show no other member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub error: Option<Value>,
}
