//! The head of a response with images.

use crate::web::streaming;
use crate::web::submissions::idempotency_key;
use actix_web::http::header;
use actix_web::{HttpResponse, HttpResponseBuilder};

/// `replayed`: an earlier request created the jobs.
pub fn response_head(replayed: bool) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    // The keep-alives of a stream must arrive. And a proxy that reads an image ahead of its client would hide that the client
    // disconnects, so that a repeated request would not get the image.
    response.insert_header(streaming::UNBUFFERED);
    if replayed {
        response.insert_header(idempotency_key::REPLAYED);
    }
    response
}
