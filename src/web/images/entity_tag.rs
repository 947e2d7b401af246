//! Responses with an entity tag. A client that has the content already gets 304 without it.

use actix_web::http::header::{self, EntityTag, Header as _, IfNoneMatch};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use object_store::ObjectMeta;
use sha2::{Digest as _, Sha256};

/// The text of a strong tag: a part of the SHA-256 of the content.
pub fn of<'a>(content: impl IntoIterator<Item = &'a [u8]>) -> String {
    let digest = content
        .into_iter()
        .fold(Sha256::new(), Sha256::chain_update);
    hex::encode(&digest.finalize()[..12])
}

/// A strong validator (RFC 9110, section 8.8.3): write time and size. The store's own ETag would
/// also reveal the inode.
pub fn of_object(meta: &ObjectMeta) -> EntityTag {
    let micros = meta.last_modified.timestamp_micros();
    EntityTag::new_strong(format!("{micros:x}-{:x}", meta.size))
}

/// Does the caller have the content with this tag?
pub fn is_not_modified(request: &HttpRequest, tag: &EntityTag) -> bool {
    if !request.headers().contains_key(header::IF_NONE_MATCH) {
        return false;
    }
    match IfNoneMatch::parse(request) {
        Ok(IfNoneMatch::Any) => true,
        Ok(IfNoneMatch::Items(tags)) => tags.iter().any(|known| known.weak_eq(tag)),
        Err(_) => false,
    }
}

/// Responds with 304, or with what `send` makes of a 200.
pub fn respond(
    request: &HttpRequest,
    tag: String,
    cache_control: &str,
    send: impl FnOnce(&mut HttpResponseBuilder) -> HttpResponse,
) -> HttpResponse {
    let tag = EntityTag::new_strong(tag);
    let is_known = is_not_modified(request, &tag);
    let mut response = match is_known {
        true => HttpResponse::NotModified(),
        false => HttpResponse::Ok(),
    };
    response.insert_header((header::CACHE_CONTROL, cache_control));
    response.insert_header(header::ETag(tag));
    match is_known {
        true => response.finish(),
        false => send(&mut response),
    }
}
