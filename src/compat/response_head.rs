//! The head of a response with images.

use crate::web::idempotency_key;
use actix_web::http::header;
use actix_web::{HttpResponse, HttpResponseBuilder};

/// `replayed`: an earlier request created the jobs.
pub fn response_head(replayed: bool) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    if replayed {
        response.insert_header(idempotency_key::REPLAYED);
    }
    response
}
