//! The first use of an idempotency key.

use super::error::Error;
use super::state::AppState;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall};

/// The job that the first use of an idempotency key has made; `None` when this is the first.
///
/// # Errors
/// `IdempotencyKeyReused` when that was another request.
pub async fn first_use(
    state: &AppState,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<JobId>, Error> {
    let call = IdempotentCall::Generation;
    let first = state
        .store
        .idempotency(call, account, &used.name, state.now())
        .await?;
    match first {
        Some(first) if first.fingerprint != used.fingerprint => Err(AcceptError::KeyReused.into()),
        first => Ok(first.map(|first| JobId(first.made))),
    }
}
