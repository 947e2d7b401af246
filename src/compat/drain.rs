//! Lets a client finish sending what nobody wants to read, so that it is ready to hear why.
//!
//! Many clients read no answer before they have sent all of their body: cut off, they report a broken connection instead of
//! the refusal. What is read here is thrown away at once.

use actix_web::error::PayloadError;
use actix_web::web;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Enough for a body that is just too large.
const MAX_BYTES: u64 = 256_000_000;

/// The same for those who have not even shown a good key.
const MAX_BYTES_OF_STRANGERS: u64 = 8_000_000;
const TIME_OF_STRANGERS: Duration = Duration::from_secs(5);

/// Reads the rest of a body, up to a bound in size and time.
pub async fn drain(
    payload: &mut (impl Stream<Item = Result<Bytes, PayloadError>> + Unpin),
    until: Instant,
) {
    throw_away(payload, MAX_BYTES, until).await;
}

/// The same for a call that is refused before its body was to be read.
pub async fn briefly(payload: &mut web::Payload) {
    let until = Instant::now() + TIME_OF_STRANGERS;
    throw_away(payload, MAX_BYTES_OF_STRANGERS, until).await;
}

async fn throw_away(
    payload: &mut (impl Stream<Item = Result<Bytes, PayloadError>> + Unpin),
    most: u64,
    until: Instant,
) {
    let rest = async {
        let mut thrown_away = 0;
        while let Some(Ok(chunk)) = payload.next().await {
            thrown_away += chunk.len() as u64;
            if thrown_away > most {
                return;
            }
        }
    };
    // Too slow as well: then it hears nothing.
    let _ = timeout_at(until, rest).await;
}
