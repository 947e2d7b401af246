//! A whole answer of a back end.

use super::retry_after;
use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use std::time::{Duration, SystemTime};

/// A status with the whole of its body. One that broke off or was too large is a [`Fault`] instead.
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

    /// How long the back end asks to be left alone, by its headers.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::of(&self.headers, SystemTime::now())
    }
}
