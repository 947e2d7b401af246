//! A complete response of a backend.

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use std::time::{Duration, SystemTime};

/// Longer bodies are images, not messages.
const MAX_MESSAGE_BODY: usize = 64 * 1024;

/// A status of any class with a complete body. A truncated or oversized response is a [`Fault`](super::Fault) instead.
#[derive(Clone, Debug)]
pub struct Response {
    /// The path of the request, for the operator.
    pub path: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// At most [`MAX_RESPONSE`](super::MAX_RESPONSE) bytes.
    pub body: Bytes,
}

impl Response {
    /// The media type without its parameters, in lower case; empty without a `Content-Type`.
    pub fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE);
        let text = value.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let bare = text.split(';').next().unwrap_or_default();
        bare.trim().to_ascii_lowercase()
    }

    /// A copy without a body that is too long for a message, so that it keeps no image in memory.
    pub fn message(&self) -> Self {
        let mut message = self.clone();
        if message.body.len() > MAX_MESSAGE_BODY {
            message.body = Bytes::new();
        }
        message
    }

    pub fn retry_after(&self) -> Option<Duration> {
        tintype_egress::retry_after(&self.headers, SystemTime::now())
    }
}
