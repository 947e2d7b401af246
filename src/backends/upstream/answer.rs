//! A whole answer of a back end.

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use std::time::{Duration, SystemTime};

/// A status with its whole body. An answer that broke off or was too large is a [`Fault`](super::Fault) instead.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status, whatever it is.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body, at most [`MAX_ANSWER`](super::MAX_ANSWER) bytes.
    pub body: Bytes,
}

impl Answer {
    /// The media type without its parameters, in lower case; empty where there is none.
    pub fn media_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE);
        let text = value.and_then(|it| it.to_str().ok()).unwrap_or_default();
        let bare = text.split(';').next().unwrap_or_default();
        bare.trim().to_ascii_lowercase()
    }

    /// How long the headers ask the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        tintype_egress::retry_after(&self.headers, SystemTime::now())
    }
}
