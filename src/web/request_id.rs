//! The id of a request: the caller's `X-Request-Id`, or a generated one.

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::str;
use uuid::Builder;
use uuid::fmt::Hyphenated;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_ID_CHARS: usize = 128;

/// The caller's id if it is safe to log, otherwise a generated one.
#[derive(Clone, Debug)]
pub struct RequestId(HeaderValue);

impl RequestId {
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.0.as_bytes()).unwrap_or_default()
    }

    pub fn of(request: &HttpRequest) -> Self {
        let given = request.headers().get(&REQUEST_ID);
        match given.filter(|id| is_safe_to_log(id.as_bytes())) {
            Some(id) => Self(id.clone()),
            None => Self(generate()),
        }
    }

    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(REQUEST_ID, self.0.clone());
    }
}

fn generate() -> HeaderValue {
    let id = Builder::from_random_bytes(rand::random()).into_uuid();
    let mut text = [0; Hyphenated::LENGTH];
    let text = id.hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("-"))
}

fn is_safe_to_log(id: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.iter().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_ids_of_plain_characters_are_safe_to_log() {
        for good in ["a", "A-Z_0.9", &"x".repeat(128)] {
            assert!(is_safe_to_log(good.as_bytes()), "{good}");
        }
        for bad in ["", "a b", "a\tb", "é", "a/b", "{}", &"x".repeat(129)] {
            assert!(!is_safe_to_log(bad.as_bytes()), "{bad}");
        }
    }
}
