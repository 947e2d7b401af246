//! `GET` and `HEAD` `/files/<key>?expires=...&signature=...`: downloads from the local store.
//!
//! The handler verifies the URL (signature, then expiry) before it looks the object up, so without a
//! valid URL a caller learns nothing of the store. It streams the file, supports one range (RFC 9110,
//! section 14; several ranges get the whole file) and `If-None-Match`. With a cloud store the URLs
//! lead to the cloud, and this route responds with 404.

use super::entity_tag::{self, is_not_modified};
use super::file_chunks;
use super::image_headers;
use crate::application::error::{image_fault, object_store_fault};
use crate::objects::{Grant, ObjectError, ObjectStorage, is_result};
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::body::SizedStream;
use actix_web::http::header::{
    self, EntityTag, Header as _, HeaderName, HeaderValue, IfRange, Range as RangeHeader,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use object_store::GetResultPayload;
use std::ops::Range;

/// Routed to [`respond`] for GET and HEAD.
pub const ROUTE: &str = "/files/{key:.*}";

const PATH_PREFIX: &str = "/files/";

/// # Errors
/// In this order: the URL is not valid, there is no such file, the range is outside of it, or it cannot be read.
pub async fn respond(
    request: &HttpRequest,
    objects: &ObjectStorage,
    now: DateTime<Utc>,
) -> HttpResult {
    let grant = grant(request, request.query_string(), objects, now)?;
    send(request, objects, grant).await
}

/// Verifies the URL of a request; `query` is the signed part of its query.
///
/// # Errors
/// The URL is not valid, or the store is a cloud.
pub fn grant(
    request: &HttpRequest,
    query: &str,
    objects: &ObjectStorage,
    now: DateTime<Utc>,
) -> Result<Grant, Problem> {
    if !objects.is_local() {
        return Err(no_such_file());
    }
    // The router decodes some escapes in its match, so read the signed key from the raw path.
    let (_, raw_key) = request
        .uri()
        .path()
        .split_once(PATH_PREFIX)
        .ok_or_else(no_such_file)?;
    Ok(objects.read_url(raw_key, query, now)?)
}

/// Sends the granted file.
///
/// # Errors
/// As [`respond`] with a valid URL.
pub async fn send(request: &HttpRequest, objects: &ObjectStorage, grant: Grant) -> HttpResult {
    let object = match objects.reader(&grant.key).await {
        Ok(object) => object,
        Err(error) => return Err(to_problem(error, &grant.key)),
    };
    let size = object.meta.size;
    let tag = entity_tag::of_object(&object.meta);
    let cache = format!("private, max-age={}", grant.remaining_seconds);
    if is_not_modified(request, &tag) {
        return Ok(HttpResponse::NotModified()
            .insert_header(header::ETag(tag))
            .insert_header((header::CACHE_CONTROL, cache))
            .finish());
    }
    let part = requested_range(request, &tag, size)?;
    let mut response = HttpResponse::Ok();
    if let Some(part) = &part {
        let (first, last) = (part.start, part.end - 1);
        response.status(StatusCode::PARTIAL_CONTENT).insert_header((
            header::CONTENT_RANGE,
            format!("bytes {first}-{last}/{size}"),
        ));
    }
    response
        .insert_header(header::ETag(tag))
        .insert_header((header::CACHE_CONTROL, cache))
        .insert_header((header::ACCEPT_RANGES, "bytes"));
    image_headers::insert(&mut response, &grant.key);
    let part = part.unwrap_or(0..size);
    let length = part.end - part.start;
    let GetResultPayload::File(file, _) = object.payload else {
        // This route serves only the local store, which returns files.
        return Err(no_such_file());
    };
    // The response to HEAD has the length and no body.
    let sent = if request.method() == Method::HEAD {
        0..0
    } else {
        part
    };
    Ok(response.body(SizedStream::new(
        length,
        Box::pin(file_chunks::chunks(file, sent)),
    )))
}

/// The requested range; `None` means the whole file: no range, an invalid one, several, or a range
/// of a file that has changed since.
fn requested_range(
    request: &HttpRequest,
    tag: &EntityTag,
    size: u64,
) -> Result<Option<Range<u64>>, Problem> {
    let present = |name: HeaderName| request.headers().contains_key(name);
    if request.method() != Method::GET || !present(header::RANGE) {
        return Ok(None);
    }
    // A date never matches, because the server sends no `Last-Modified`.
    let same_file = !present(header::IF_RANGE)
        || matches!(IfRange::parse(request), Ok(IfRange::EntityTag(known)) if known.strong_eq(tag));
    if !same_file {
        return Ok(None);
    }
    let ranges = match RangeHeader::parse(request) {
        // Units are case-insensitive.
        Ok(RangeHeader::Unregistered(unit, ranges)) if unit.eq_ignore_ascii_case("bytes") => {
            format!("bytes={ranges}").parse()
        }
        ranges => ranges,
    };
    let Ok(RangeHeader::Bytes(ranges)) = ranges else {
        return Ok(None);
    };
    let [range] = ranges.as_slice() else {
        return Ok(None);
    };
    match range.to_satisfiable_range(size) {
        Some((first, last)) => Ok(Some(first..last + 1)),
        None => Err(unsatisfiable(size)),
    }
}

fn unsatisfiable(size: u64) -> Problem {
    let detail = format!("the range lies outside the file, which has {size} bytes");
    let problem = Problem::new(Code::RangeNotSatisfiable, detail);
    match HeaderValue::from_str(&format!("bytes */{size}")) {
        Ok(value) => problem.with_header(header::CONTENT_RANGE, value),
        Err(_) => problem,
    }
}

pub fn no_such_file() -> Problem {
    Problem::new(Code::NotFound, "there is no such file")
}

fn to_problem(error: ObjectError, key: &str) -> Problem {
    match error {
        ObjectError::NotFound { .. } if is_result(key) => image_fault(error).into(),
        ObjectError::NotFound { .. } => no_such_file(),
        _ => {
            object_store_fault(error, "could not read a file", "the file could not be read").into()
        }
    }
}

#[cfg(test)]
mod tests;
