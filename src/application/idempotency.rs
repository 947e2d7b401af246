//! Looks up the first use of an idempotency key.

use super::error::Error;
use super::state::AppState;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall};
use uuid::Uuid;

/// The id of the record that the first use of the key created; `None` if this is the first use.
///
/// # Errors
/// `IdempotencyKeyReused` if the first use was another request
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
