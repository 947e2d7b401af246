//! Responses that no cache may store: they may contain keys, secrets and prompts.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::middleware::DefaultHeaders;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;

const NO_STORE: (HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
pub const JSON: (HeaderName, HeaderValue) = (
    header::CONTENT_TYPE,
    HeaderValue::from_static("application/json"),
);

/// Wraps a scope: all its responses without `Cache-Control` get the header.
pub fn by_default() -> DefaultHeaders {
    DefaultHeaders::new().add(NO_STORE)
}

pub fn build(status: StatusCode) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header(NO_STORE);
    response
}

/// 200
pub fn ok() -> HttpResponseBuilder {
    build(StatusCode::OK)
}

/// 204
pub fn no_content() -> HttpResponse {
    build(StatusCode::NO_CONTENT).finish()
}

/// 200 with a JSON body.
pub fn json(body: impl Serialize) -> HttpResponse {
    ok().json(body)
}

/// The same for a body that is written already.
pub fn written_json(body: Vec<u8>) -> HttpResponse {
    ok().insert_header(JSON).body(body)
}
