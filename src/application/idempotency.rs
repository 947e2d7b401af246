//! Looks up the first use of an idempotency key.

use super::core::Core;
use super::error::Error;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AcceptError, IdempotencyUse, IdempotentCall};
use uuid::Uuid;

/// The id of the record that the first use of the key created; `None` if this is the first use.
///
/// # Errors
/// `IdempotencyKeyReused` if the first use was another request
pub async fn first_use(
    core: &Core,
    call: IdempotentCall,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<Uuid>, Error> {
    let first = core
        .store
        .idempotency(call, account, &used.name, core.now())
        .await?;
    match first {
        Some(first) if first.fingerprint != used.fingerprint => Err(AcceptError::KeyReused.into()),
        first => Ok(first.map(|first| first.made)),
    }
}
