//! Whether a call can be paid, looked at before anything is fetched or stored for it. The reservation decides again.

use super::failures;
use super::problem::Problem;
use super::state::AppState;
use actix_web::web;
use std::sync::Arc;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::ledger::LedgerError;
use tintype_storage::store::AcceptError;

/// Refuses what the account's balance or the key's own limit does not cover.
pub async fn check(
    state: &web::Data<AppState>,
    key: &Arc<ApiKey>,
    price: Amount,
) -> Result<(), Problem> {
    let account = state.store.account(key.account)?;
    let books = account.map(|account| account.books).unwrap_or_default();
    books.hold(price).map_err(AcceptError::from)?;
    let Some(limit) = key.spend_limit else {
        return Ok(());
    };
    let (shared, key) = (state.clone(), Arc::clone(key));
    // Reads all live jobs of the account, which may be many: not on this thread, which serves other calls.
    let used = web::block(move || spent_and_held(&shared, &key)).await;
    let used = used.map_err(|_| failures::busy())??;
    let total = used.plus(price).map_err(LedgerError::from);
    if total.map_err(AcceptError::from)? > limit {
        return Err(AcceptError::KeyLimit { limit, used, price }.into());
    }
    Ok(())
}

/// What a key has spent, with what its live jobs hold.
fn spent_and_held(state: &AppState, key: &ApiKey) -> Result<Amount, Problem> {
    let mut used = state.store.key_spent(key.id)?;
    state.store.each_live_job_of(key.account, |job| {
        if job.key == key.id {
            // Beyond every limit there is nothing to tell apart.
            used = used.plus(job.price).unwrap_or(used);
        }
        Ok(())
    })?;
    Ok(used)
}
