//! Responses that no cache may store.

use actix_web::HttpResponse;
use actix_web::http::header;
use serde::Serialize;

/// 200 with a JSON body.
pub fn json(body: impl Serialize) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    answer.json(body)
}
