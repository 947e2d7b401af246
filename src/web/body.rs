//! Reads request bodies: JSON only, never inflated, bounded in size and time.

use super::problem::{Code, Problem};
use crate::application::state::AppState;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpMessage as _, HttpRequest, web};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt as _, StreamExt as _};
use std::time::Duration;

/// The body of a call that takes JSON.
///
/// Answers 415 for another media type or an encoded body, 413 past the limit, whether the length was declared or not,
/// and 408 when it does not arrive in time.
pub async fn read_json(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
) -> Result<Bytes, Problem> {
    let limit = state.config.server.max_body_bytes;
    read_json_within(limit, request, payload, state).await
}

/// The same with a lower limit, for calls that need few bytes.
pub async fn read_json_within(
    limit: usize,
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
) -> Result<Bytes, Problem> {
    check_type(request)?;
    read_within(limit, request, payload, state).await
}

/// The body of a call that has looked at its type. The same limits hold.
pub async fn read_within(
    limit: usize,
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
) -> Result<Bytes, Problem> {
    let server = &state.config.server;
    let time = Duration::from_secs(server.body_timeout_seconds);
    check_length(limit, request.headers())?;
    let read = async {
        let mut payload = payload;
        let mut body = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let broken = |error| Problem::field("body", format!("did not arrive whole: {error}"));
            let chunk = chunk.map_err(broken)?;
            if body.len() + chunk.len() > limit {
                return Err(too_large(limit));
            }
            if body.is_empty()
                && chunk.len() as u64 == declared_length(request.headers()).unwrap_or(0)
            {
                // Most bodies come in one piece, which needs no copy.
                return Ok(chunk);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    };
    let late = |_| {
        Problem::new(
            Code::RequestTimeout,
            format!("the body did not arrive within {} s", time.as_secs()),
        )
    };
    let mut read = std::pin::pin!(read);
    // Most bodies are there already: then no timer is set.
    if let Some(body) = read.as_mut().now_or_never() {
        return body;
    }
    tokio::time::timeout(time, read).await.map_err(late)?
}

/// The body of a call that may do without one: `None` where nothing is sent.
pub async fn read_optional_json(
    request: &HttpRequest,
    payload: web::Payload,
    state: &AppState,
) -> Result<Option<Bytes>, Problem> {
    let headers = request.headers();
    let sends = declared_length(headers).is_some_and(|length| length > 0)
        || headers.contains_key(header::TRANSFER_ENCODING);
    if !sends {
        return Ok(None);
    }
    read_json(request, payload, state).await.map(Some)
}

/// Refuses a body that is said to be longer than this.
///
/// # Errors
/// 413
pub fn check_length(limit: usize, headers: &HeaderMap) -> Result<(), Problem> {
    match declared_length(headers) {
        Some(length) if length > limit as u64 => Err(too_large(limit)),
        _ => Ok(()),
    }
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("the body may have at most {limit} bytes");
    Problem::new(Code::PayloadTooLarge, detail)
}

/// The length that a body is said to have.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers
        .get(header::CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

fn check_type(request: &HttpRequest) -> Result<(), Problem> {
    let given = request.headers().get(header::CONTENT_TYPE);
    if given.is_some_and(|value| value.as_bytes() == b"application/json") {
        // What nearly all callers send needs no parsing.
        return check_encoding(request);
    }
    let expected = "send the body as `Content-Type: application/json`";
    match media_type(request)? {
        Some(MediaType::Json) => Ok(()),
        Some(MediaType::Lines) | None => Err(unsupported(expected)),
    }
}

/// What a body is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Json,
    /// One JSON object per line.
    Lines,
}

/// What the body is, sent as it is and in UTF-8; `None` for anything else than JSON.
///
/// # Errors
/// 415 for another charset or an encoded body
pub fn media_type(request: &HttpRequest) -> Result<Option<MediaType>, Problem> {
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
        Some(charset) if charset != "utf-8" => {
            Err(unsupported("JSON is UTF-8; send no other charset"))
        }
        _ => Ok(Some(known)),
    }
}

fn check_encoding(request: &HttpRequest) -> Result<(), Problem> {
    let mut encodings = request.headers().get_all(header::CONTENT_ENCODING);
    if encodings.any(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(unsupported(
            "Content-Encoding is not supported; send the body as it is",
        ));
    }
    Ok(())
}

/// 415
pub fn unsupported(detail: &str) -> Problem {
    Problem::new(Code::UnsupportedMediaType, detail)
}
