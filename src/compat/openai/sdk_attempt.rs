//! The number of the attempt at a call, which OpenAI's SDKs send: they retry automatically, without an idempotency key.

use actix_web::HttpRequest;

const RETRY_COUNT: &str = "x-stainless-retry-count";

/// Attempts at the same call before this one; 0 for clients that do not count.
pub fn number_of(request: &HttpRequest) -> u32 {
    let count = request.headers().get(RETRY_COUNT);
    let count = count.and_then(|it| it.to_str().ok()?.parse().ok());
    count.unwrap_or_default()
}
