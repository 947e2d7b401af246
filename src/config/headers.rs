//! Tables of HTTP headers.

use std::collections::BTreeMap;

use reqwest::header::{HeaderName, HeaderValue};

use super::reader::Field;
use super::secret::Secret;
use super::values::redacted;

const MAX_HEADERS: usize = 32;

/// Headers that the HTTP client sets.
const RESERVED_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

/// Reads a table of HTTP headers.
pub(super) fn headers(field: &Field<'_>) -> Option<BTreeMap<String, Secret>> {
    let mut headers = BTreeMap::new();
    let mut table = field.section()?;
    for (index, name) in table.names().enumerate() {
        if index == MAX_HEADERS {
            table.fault("", format!("expected at most {MAX_HEADERS} headers"));
            break;
        }
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            table.fault(name, "expected the name of an HTTP header".to_owned());
        } else if RESERVED_HEADERS.contains(&lower.as_str()) {
            table.fault(name, "the HTTP client sets this header itself".to_owned());
        } else if headers.contains_key(&lower) {
            table.fault(
                name,
                "this header is given twice, in different case".to_owned(),
            );
        }
        let value = |text: &str| match HeaderValue::from_str(text) {
            Ok(_) => Ok(Secret::new(text)),
            Err(_) => Err("the value of an HTTP header, without line breaks".to_owned()),
        };
        if let Some(value) = table.optional(name, redacted(value)) {
            headers.insert(lower, value);
        }
    }
    Some(headers)
}
