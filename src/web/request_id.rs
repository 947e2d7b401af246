//! The id of a request: the caller's `X-Request-Id`, or a generated one.

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::rc::Rc;
use uuid::Builder;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_ID_CHARS: usize = 128;

/// The caller's id if it is safe to log, otherwise a generated one.
#[derive(Clone, Debug)]
pub struct RequestId(Rc<str>);

impl RequestId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn of(request: &HttpRequest) -> Self {
        let given = request
            .headers()
            .get(&REQUEST_ID)
            .and_then(|value| value.to_str().ok());
        match given.filter(|id| is_safe_to_log(id)) {
            Some(id) => Self(id.into()),
            None => Self(
                Builder::from_random_bytes(rand::random())
                    .into_uuid()
                    .to_string()
                    .into(),
            ),
        }
    }

    pub fn write(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.0) {
            headers.insert(REQUEST_ID, value);
        }
    }
}

fn is_safe_to_log(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_ids_of_plain_characters_are_safe_to_log() {
        for good in ["a", "A-Z_0.9", &"x".repeat(128)] {
            assert!(is_safe_to_log(good), "{good}");
        }
        for bad in ["", "a b", "a\tb", "é", "a/b", "{}", &"x".repeat(129)] {
            assert!(!is_safe_to_log(bad), "{bad}");
        }
    }
}
