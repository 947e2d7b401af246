//! `GET` and `HEAD` `/files/<key>?expires=...&signature=...`: downloads from the local store.
//!
//! The handler verifies the URL (signature, then expiry) before it looks the object up, so without a
//! valid URL a caller learns nothing of the store. It streams the file, supports one range (RFC 9110,
//! section 14; several ranges get the whole file) and `If-None-Match`. With a cloud store the URLs
//! lead to the cloud, and this route responds with 404.

use super::error::FileError;
use super::signed_url::Grant;
use super::{Images, ImagesError, body, key, signed_url};
use actix_web::body::SizedStream;
use actix_web::http::header::{
    self, EntityTag, Header, HeaderName, IfNoneMatch, IfRange, Range as RangeHeader,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use chrono::{DateTime, Utc};
use object_store::{GetResultPayload, ObjectMeta};
use std::ops::Range;

/// Routed to [`respond`] for GET and HEAD.
pub const ROUTE: &str = "/files/{key:.*}";

const PATH_PREFIX: &str = "/files/";

/// Stored files are images; if one were not, a browser must not run it under this server's origin.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; sandbox";

/// # Errors
/// `FileError`, in the order of its variants.
pub async fn respond(
    request: &HttpRequest,
    images: &Images,
    now: DateTime<Utc>,
) -> Result<HttpResponse, FileError> {
    let grant = grant(request, request.query_string(), images, now)?;
    send(request, images, grant).await
}

/// Verifies the URL of a request; `query` is the signed part of its query.
///
/// # Errors
/// `InvalidSignature`, `UrlExpired`; `NotFound` with a cloud store.
pub(crate) fn grant(
    request: &HttpRequest,
    query: &str,
    images: &Images,
    now: DateTime<Utc>,
) -> Result<Grant, FileError> {
    if !images.is_local() {
        return Err(FileError::NotFound);
    }
    // The router decodes some escapes in its match, so read the signed key from the raw path.
    let (_, raw_key) = request
        .uri()
        .path()
        .split_once(PATH_PREFIX)
        .ok_or(FileError::NotFound)?;
    let signing_key = &images.inner.signing_key;
    signed_url::read(signing_key, raw_key, query, now)
}

/// Sends the granted file.
///
/// # Errors
/// Every `FileError` except those about the URL.
async fn send(
    request: &HttpRequest,
    images: &Images,
    grant: Grant,
) -> Result<HttpResponse, FileError> {
    let object = match images.reader(&grant.key).await {
        Ok(object) => object,
        Err(ImagesError::NotFound { .. }) if key::is_result(&grant.key) => {
            return Err(FileError::Gone);
        }
        Err(ImagesError::NotFound { .. }) => return Err(FileError::NotFound),
        Err(fault) => return Err(FileError::Storage(fault)),
    };
    let size = object.meta.size;
    let tag = entity_tag(&object.meta);
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
    insert_image_headers(&mut response, &grant.key);
    let part = part.unwrap_or(0..size);
    let length = part.end - part.start;
    let GetResultPayload::File(file, _) = object.payload else {
        // This route serves only the local store, which returns files.
        return Err(FileError::NotFound);
    };
    // The response to HEAD has the length and no body.
    let sent = if request.method() == Method::HEAD {
        0..0
    } else {
        part
    };
    Ok(response.body(SizedStream::new(length, Box::pin(body::chunks(file, sent)))))
}

/// Adds the headers with which a browser shows a stored image, saves it under the name of its key, and runs nothing in it.
pub(crate) fn insert_image_headers(response: &mut HttpResponseBuilder, key: &str) {
    response
        .content_type(key::media_type(key))
        .insert_header((header::CONTENT_DISPOSITION, body::disposition(key)))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY));
}

/// A strong validator (RFC 9110, section 8.8.3): write time and size. The store's own ETag would
/// also reveal the inode.
fn entity_tag(meta: &ObjectMeta) -> EntityTag {
    let micros = meta.last_modified.timestamp_micros();
    EntityTag::new_strong(format!("{micros:x}-{:x}", meta.size))
}

/// Does the caller have the content with this tag?
pub(crate) fn is_not_modified(request: &HttpRequest, tag: &EntityTag) -> bool {
    if !request.headers().contains_key(header::IF_NONE_MATCH) {
        return false;
    }
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    }
}

/// The requested range; `None` means the whole file: no range, an invalid one, several, or a range
/// of a file that has changed since.
fn requested_range(
    request: &HttpRequest,
    tag: &EntityTag,
    size: u64,
) -> Result<Option<Range<u64>>, FileError> {
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
    let Ok(RangeHeader::Bytes(ranges)) = RangeHeader::parse(request) else {
        return Ok(None);
    };
    let [range] = ranges.as_slice() else {
        return Ok(None);
    };
    match range.to_satisfiable_range(size) {
        Some((first, last)) => Ok(Some(first..last + 1)),
        None => Err(FileError::RangeNotSatisfiable { size }),
    }
}

#[cfg(test)]
mod tests;
