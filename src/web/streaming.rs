//! Streamed bodies.

use crate::web::problem::Problem;
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use bytes::Bytes;
use futures_util::{Stream, stream};

/// Tells nginx to pass the response on as it arrives.
pub const UNBUFFERED: (&str, &str) = ("X-Accel-Buffering", "no");

/// Sends the stream, or no body to HEAD.
pub fn respond(
    request: &HttpRequest,
    response: &mut HttpResponseBuilder,
    body: impl Stream<Item = Result<Bytes, Problem>> + 'static,
) -> HttpResponse {
    match *request.method() {
        // Not `finish`, which would say that GET has no body either: `Content-Length: 0`.
        Method::HEAD => response.streaming(stream::empty::<Result<Bytes, Problem>>()),
        _ => response.streaming(body),
    }
}
