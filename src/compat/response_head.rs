//! The head of a response with images, and the response itself if it is sent as a whole.

use super::base64_body::{self, Part};
use super::dialect::Dialect;
use super::jobs::job_waiter::{JobWaiter, mark_answered};
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

/// A response of a known length. The waiting callers have their images once it is sent.
pub fn image_response(
    dialect: Dialect,
    replayed: bool,
    parts: Vec<Part>,
    waiters: Vec<JobWaiter>,
) -> HttpResponse {
    let body = base64_body::sized_body(parts, mark_answered(waiters));
    response_head(replayed)
        .content_type(dialect.content_type())
        .body(body)
}
