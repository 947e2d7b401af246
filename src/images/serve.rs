//! `GET` and `HEAD` `/files/<key>?expires=...&signature=...`: downloads from the local store.
//!
//! The address is checked first (signature, then time), then the object is looked for; nothing
//! about the store shows without a genuine address. A picture is streamed, in parts if the client
//! asks for a part (RFC 9110, section 14: one range; several are answered with the whole), and
//! not sent again to who has it (`If-None-Match`). With a cloud store the addresses lead there,
//! and this route answers 404.

use std::ops::Range;

use actix_web::body::SizedStream;
use actix_web::http::header::{
    self, EntityTag, Header, HeaderName, IfNoneMatch, IfRange, Range as RangeHeader,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use chrono::{DateTime, Utc};
use object_store::{GetResultPayload, ObjectMeta};

use super::file_error::FileError;
use super::signed_url::Grant;
use super::{Images, ImagesError, Place, body, key, signed_url};

/// The pattern of the route that answers with [`answer`], for GET and for HEAD.
pub const ROUTE: &str = "/files/{key:.*}";

/// What the path of every download begins with.
const PATH_PREFIX: &str = "/files/";

/// The media types of the store are pictures; should a file be anything else, a browser must not
/// run it in this server's name.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; sandbox";

/// Answers one download as of `now`.
///
/// # Errors
///
/// `FileError`, in the order of its variants.
pub async fn answer(
    request: &HttpRequest,
    images: &Images,
    now: DateTime<Utc>,
) -> Result<HttpResponse, FileError> {
    let grant = grant(request, request.query_string(), images, now)?;
    send(request, images, grant).await
}

/// What the address of a call allows as of `now`; `query` is what of its query was signed.
///
/// # Errors
///
/// `InvalidSignature`, `UrlExpired`; `NotFound` with a cloud store.
pub(crate) fn grant(
    request: &HttpRequest,
    query: &str,
    images: &Images,
    now: DateTime<Utc>,
) -> Result<Grant, FileError> {
    if !matches!(images.inner.place, Place::Local { .. }) {
        return Err(FileError::NotFound);
    }
    // The router has undone some of the escapes of its own match; what was signed is read from
    // the path as it came.
    let (_, raw_key) = request
        .uri()
        .path()
        .split_once(PATH_PREFIX)
        .ok_or(FileError::NotFound)?;
    let signing_key = &images.inner.signing_key;
    signed_url::read(signing_key, raw_key, query, now)
}

/// Answers with the file that was granted.
///
/// # Errors
///
/// `FileError`, but for those about the address.
pub(crate) async fn send(
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
    if unchanged(request, &tag) {
        return Ok(HttpResponse::NotModified()
            .insert_header(header::ETag(tag))
            .insert_header((header::CACHE_CONTROL, cache))
            .finish());
    }
    let part = wanted_part(request, &tag, size)?;
    let mut answer = HttpResponse::Ok();
    if let Some(part) = &part {
        let (first, last) = (part.start, part.end - 1);
        answer.status(StatusCode::PARTIAL_CONTENT).insert_header((
            header::CONTENT_RANGE,
            format!("bytes {first}-{last}/{size}"),
        ));
    }
    answer
        .content_type(key::media_type(&grant.key))
        .insert_header(header::ETag(tag))
        .insert_header((header::CACHE_CONTROL, cache))
        .insert_header((header::ACCEPT_RANGES, "bytes"))
        .insert_header((header::CONTENT_DISPOSITION, body::disposition(&grant.key)))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY));
    let part = part.unwrap_or(0..size);
    let length = part.end - part.start;
    let GetResultPayload::File(file, _) = object.payload else {
        // Only the local store is served, and it hands out files.
        return Err(FileError::NotFound);
    };
    // The answer to HEAD states the length; its body would be read for nothing.
    let sent = if request.method() == Method::HEAD {
        0..0
    } else {
        part
    };
    Ok(answer.body(SizedStream::new(length, Box::pin(body::chunks(file, sent)))))
}

/// A strong validator (RFC 9110, section 8.8.3): time of writing and size. The store's own also
/// tells the file's inode, which is nobody's business.
fn entity_tag(meta: &ObjectMeta) -> EntityTag {
    let micros = meta.last_modified.timestamp_micros();
    EntityTag::new_strong(format!("{micros:x}-{:x}", meta.size))
}

/// Whether the client has this very file already.
fn unchanged(request: &HttpRequest, tag: &EntityTag) -> bool {
    if !request.headers().contains_key(header::IF_NONE_MATCH) {
        return false;
    }
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    }
}

/// The part of the file that was asked for; none where the whole is to be sent: no range, one
/// that makes no sense, several, or a range of a file that has changed since.
fn wanted_part(
    request: &HttpRequest,
    tag: &EntityTag,
    size: u64,
) -> Result<Option<Range<u64>>, FileError> {
    let present = |name: HeaderName| request.headers().contains_key(name);
    if request.method() != Method::GET || !present(header::RANGE) {
        return Ok(None);
    }
    // A date can only be compared where `Last-Modified` was sent, which it never is.
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
