//! The first use of an idempotency key.

use super::error::Error;
use super::state::AppState;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall};
use uuid::Uuid;

/// The id of what the first use of an idempotency key in such a call has made; `None` when this is the first.
///
/// # Errors
/// `IdempotencyKeyReused` when that was another request.
pub async fn first_use(
    state: &AppState,
    call: IdempotentCall,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<Uuid>, Error> {
    let first = state
        .store
        .idempotency(call, account, &used.name, state.now())
        .await?;
    match first {
        Some(first) if first.fingerprint != used.fingerprint => Err(AcceptError::KeyReused.into()),
        first => Ok(first.map(|first| first.made)),
    }
}
