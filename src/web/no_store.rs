//! Responses that no cache may store.

use actix_web::http::header;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;

/// 200
pub fn ok() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response
}

/// 204
pub fn no_content() -> HttpResponse {
    let mut response = HttpResponse::NoContent();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    response.finish()
}

/// 200 with a JSON body.
pub fn json(body: impl Serialize) -> HttpResponse {
    ok().json(body)
}
