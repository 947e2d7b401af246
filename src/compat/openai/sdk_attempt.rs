//! The number of the attempt at a call, which OpenAI's SDKs send: they retry automatically, without an idempotency key.

use crate::application::payer::Payer;
use crate::compat::answered_calls::AnsweredCalls;
use crate::compat::refusal::Refusal;
use actix_web::HttpRequest;
use tintype_storage::domain::time::Timestamp;

const RETRY_COUNT: &str = "x-stainless-retry-count";

/// Attempts at the same call before this one; 0 for clients that do not count.
pub fn number_of(request: &HttpRequest) -> u32 {
    let count = request.headers().get(RETRY_COUNT);
    let count = count.and_then(|it| it.to_str().ok()?.parse().ok());
    count.unwrap_or_default()
}

/// Records that a first attempt was refused, so that its retry is not taken for a retry of an earlier call that was answered.
pub fn note_refusal<T, R>(
    attempt: u32,
    calls: &AnsweredCalls<T>,
    caller: &Payer,
    outcome: &Result<R, Refusal>,
    now: Timestamp,
) {
    if outcome.is_err() && attempt == 0 {
        calls.refuse(caller.key.id, now);
    }
}
