//! Looks up and records the first use of an idempotency key.

use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::error::{Error, key_reused};
use crate::application::settings::Settings;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::tables::IDEMPOTENCY;
use tintype_storage::store::{
    AcceptError, IdempotencyKey, IdempotencyRecord, IdempotencyUse, IdempotentCall, Made, Write,
};
use uuid::Uuid;

/// Checks the key of a dry run, which uses it for nothing.
///
/// # Errors
/// `IdempotencyKeyReused` if the first use was another request
pub async fn check_dry_run(
    core: &Core,
    payer: &Payer,
    used: Option<&IdempotencyUse>,
) -> Result<(), Error> {
    let Some(used) = used else { return Ok(()) };
    let first = find_same_request(core, IdempotentCall::Submission, payer.account(), used);
    first.await.map(drop)
}

/// The id of the record that the first use of the key created; `None` if this is the first use.
///
/// # Errors
/// `IdempotencyKeyReused` if the first use was another request
pub async fn find_same_request(
    core: &Core,
    call: IdempotentCall,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<Uuid>, Error> {
    match lookup(core, call, account, &used.name).await? {
        Some(first) if first.fingerprint != used.fingerprint => Err(key_reused_error()),
        first => Ok(first.map(|first| first.made.id())),
    }
}

/// As [`find_same_request`], for a submission, which is answered by what its first use created: counts the replay.
///
/// # Errors
/// `IdempotencyKeyReused` if the first use was another request
pub async fn find_replay(
    core: &Core,
    account: AccountId,
    used: Option<&IdempotencyUse>,
) -> Result<Option<Uuid>, Error> {
    let Some(used) = used else { return Ok(None) };
    let first = find_same_request(core, IdempotentCall::Submission, account, used).await?;
    if first.is_some() {
        core.system.stats().jobs.count_replay();
    }
    Ok(first)
}

/// The record of the first use of a key, also if it was another request.
pub async fn lookup(
    core: &Core,
    call: IdempotentCall,
    account: AccountId,
    name: &str,
) -> Result<Option<IdempotencyRecord>, Error> {
    let first = core.store.idempotency(call, account, name, core.now());
    Ok(first.await?)
}

/// The key was used with another request.
pub fn key_reused_error() -> Error {
    key_reused(AcceptError::KeyReused.to_string())
}

/// Records the first use of the key of a call that no account decides.
pub fn record_use(
    settings: &Settings,
    account: AccountId,
    used: IdempotencyUse,
    made: Made,
    now: Timestamp,
) -> Write {
    let call = made.call();
    let key = IdempotencyKey {
        account,
        call,
        name: used.name,
        expires_at: now.plus(call.retention(settings.config.idempotency.retention())),
    };
    let record = IdempotencyRecord {
        made,
        fingerprint: used.fingerprint,
        expires_at: key.expires_at,
    };
    IDEMPOTENCY.put(&key, &record)
}
