//! Reads request bodies: JSON only, never decompressed, bounded in size and time.

use crate::application::settings::Settings;
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage as _, HttpRequest};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use tokio::time::timeout;

/// Why a body is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    /// By its declared or its actual length.
    #[error("the body may have at most {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive within {0} s")]
    TimedOut(u64),
    /// Its media type, charset or encoding is not supported.
    #[error("{0}")]
    Unsupported(&'static str),
    #[error("did not arrive completely: {0}")]
    Incomplete(String),
}

/// Reads a JSON body.
pub async fn read_json(
    request: &HttpRequest,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    settings: &Settings,
) -> Result<Bytes, BodyFault> {
    let limit = settings.config.server.max_body_bytes;
    read_json_within(limit, request, payload, settings).await
}

/// [`read_json`] with another limit.
pub async fn read_json_within(
    limit: usize,
    request: &HttpRequest,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    settings: &Settings,
) -> Result<Bytes, BodyFault> {
    check_type(request)?;
    read_within(limit, request, payload, settings).await
}

/// [`read_json`] without the check of the media type.
pub async fn read_within(
    limit: usize,
    request: &HttpRequest,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    settings: &Settings,
) -> Result<Bytes, BodyFault> {
    let time = settings.config.server.body_timeout();
    check_length(limit, request.headers())?;
    let read = async {
        let mut payload = payload;
        let mut body = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|error| BodyFault::Incomplete(error.to_string()))?;
            if body.len() + chunk.len() > limit {
                return Err(BodyFault::TooLarge(limit));
            }
            if body.is_empty()
                && chunk.len() as u64 == declared_length(request.headers()).unwrap_or(0)
            {
                // Most bodies arrive in one chunk, which needs no copy.
                return Ok(chunk);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    };
    let mut read = std::pin::pin!(read);
    // Most bodies arrive with their head and need no timer.
    if let Some(body) = ready_at_second_poll(read.as_mut()).await {
        return body;
    }
    let read = timeout(time, read).await;
    read.map_err(|_| BodyFault::TimedOut(time.as_secs()))?
}

/// `None` if the future is not ready when it is polled again: actix calls a handler before it reads the body behind the head.
async fn ready_at_second_poll<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut is_first = true;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if std::mem::take(&mut is_first) => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Reads an optional JSON body; `None` without one.
pub async fn read_optional_json(
    request: &HttpRequest,
    payload: impl Stream<Item = Result<Bytes, PayloadError>> + Unpin,
    settings: &Settings,
) -> Result<Option<Bytes>, BodyFault> {
    let headers = request.headers();
    let sends = declared_length(headers).is_some_and(|length| length > 0)
        || headers.contains_key(header::TRANSFER_ENCODING);
    if !sends {
        return Ok(None);
    }
    read_json(request, payload, settings).await.map(Some)
}

/// Refuses a declared length over the limit.
pub fn check_length(limit: usize, headers: &HeaderMap) -> Result<(), BodyFault> {
    match declared_length(headers) {
        Some(length) if length > limit as u64 => Err(BodyFault::TooLarge(limit)),
        _ => Ok(()),
    }
}

/// `Content-Length`.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn check_type(request: &HttpRequest) -> Result<(), BodyFault> {
    let given = request.headers().get(header::CONTENT_TYPE);
    if given.is_some_and(|value| value.as_bytes() == b"application/json") {
        // Fast path for nearly all callers.
        return check_encoding(request);
    }
    let expected = "send the body as `Content-Type: application/json`";
    match media_type(request)? {
        Some(MediaType::Json) => Ok(()),
        Some(MediaType::Lines) | None => Err(BodyFault::Unsupported(expected)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Json,
    /// One JSON object per line.
    Lines,
}

/// The media type of the body; `None` if it is not JSON.
pub fn media_type(request: &HttpRequest) -> Result<Option<MediaType>, BodyFault> {
    check_encoding(request)?;
    let Some(media) = request.mime_type().ok().flatten() else {
        return Ok(None);
    };
    let is_json = media.subtype() == "json" || media.suffix().is_some_and(|it| it == "json");
    let known = match media.type_() == "application" {
        true if is_json => MediaType::Json,
        true if ["x-ndjson", "ndjson", "jsonl"].contains(&media.subtype().as_str()) => {
            MediaType::Lines
        }
        _ => return Ok(None),
    };
    match media.get_param("charset") {
        Some(charset) if charset != "utf-8" => Err(BodyFault::Unsupported(
            "JSON is always UTF-8; remove the other charset",
        )),
        _ => Ok(Some(known)),
    }
}

pub fn check_encoding(request: &HttpRequest) -> Result<(), BodyFault> {
    let mut encodings = request.headers().get_all(header::CONTENT_ENCODING);
    if encodings.any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(BodyFault::Unsupported(
            "Content-Encoding is not supported; send the body uncompressed",
        ));
    }
    Ok(())
}
