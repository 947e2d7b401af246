//! Reads and discards the body of a refused request.
//!
//! Many clients read the response only after they have sent the whole body. If the server closes the connection before that, they
//! report a broken connection instead of the refusal.

use crate::compat::refusal::Refusal;
use actix_web::error::PayloadError;
use actix_web::web;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Enough for a body that is slightly too large.
const MAX_BYTES: u64 = 256_000_000;

/// Smaller before the body is read, because the caller may not have a valid key.
const BRIEF_MAX_BYTES: u64 = 8_000_000;
const BRIEF_TIMEOUT: Duration = Duration::from_secs(5);

/// Discards the rest of a body, within limits of size and time.
pub async fn drain(
    payload: &mut (impl Stream<Item = Result<Bytes, PayloadError>> + Unpin),
    deadline: Instant,
) {
    discard(payload, MAX_BYTES, deadline).await;
}

/// Passes on the outcome of a check that runs before the body is read. After a refusal, discards the body first.
pub async fn drain_if_refused<T>(
    payload: &mut web::Payload,
    outcome: Result<T, Refusal>,
) -> Result<T, Refusal> {
    if outcome.is_err() {
        let deadline = Instant::now() + BRIEF_TIMEOUT;
        discard(payload, BRIEF_MAX_BYTES, deadline).await;
    }
    outcome
}

async fn discard(
    payload: &mut (impl Stream<Item = Result<Bytes, PayloadError>> + Unpin),
    max_bytes: u64,
    deadline: Instant,
) {
    let rest = async {
        let mut discarded = 0;
        while let Some(Ok(chunk)) = payload.next().await {
            discarded += chunk.len() as u64;
            if discarded > max_bytes {
                return;
            }
        }
    };
    // A client that is too slow gets no response.
    let _ = timeout_at(deadline, rest).await;
}
