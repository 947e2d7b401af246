//! Checks whether the caller can pay, before the service fetches or stores anything. The reservation checks again.

use super::job_refusal;
use crate::application::core::Core;
use crate::application::error::{self, Error};
use std::sync::Arc;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::store::AcceptError;

/// Refuses a price that exceeds the balance, the limits of the account or the limits of the key.
///
/// # Errors
/// `InsufficientBalance`, `AccountLimitReached`, `KeyLimitReached`
pub async fn check(core: &Arc<Core>, key: &Arc<ApiKey>, price: Amount) -> Result<(), Error> {
    let account = core.store.account(key.account).await?;
    let account = account.ok_or_else(error::account_is_gone)?;
    let refused = |refusal| job_refusal::error(core, refusal);
    let held = account.balances.hold(price).map_err(AcceptError::from);
    held.map_err(refused)?;
    let within_limits = account.check_spending(price, core.now());
    within_limits.map_err(|limit| refused(AcceptError::AccountLimit(limit)))?;
    let limits = key.spend_limits();
    if !limits.any() {
        return Ok(());
    }
    let spent = core.store.key_spending(key.id).await?;
    let actor = core.account_actor(key.account, error::account_is_gone);
    let held = actor.await?.held_of(key.id).await?;
    let within_limits = limits.check(&spent, held, price, core.now());
    within_limits.map_err(|limit| refused(AcceptError::KeyLimit(limit)))
}
