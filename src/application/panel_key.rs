//! The key that pictures made in the panel are charged to. Its text is thrown away when it is issued.

use super::api_keys;
use super::caller::Caller;
use super::error::{Error, ErrorKind};
use super::payer::Payer;
use super::rate_limit::Counted;
use super::state::AppState;
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::StoreError;

/// The name of the key.
const NAME: &str = "panel";

/// The account's key for pictures of the panel, which is issued if it is not there. One that has been switched off or narrowed
/// stays so.
///
/// # Errors
/// `Forbidden`
pub async fn payer(state: &AppState, caller: &Caller, account: &Account) -> Result<Payer, Error> {
    let audit = caller.change_in(account)?.clone();
    let key = find_or_issue(state, caller, account.id).await?;
    if let Err(refusal) = key.admit(account.active, state.now()) {
        return Err(refused(&key, &refusal.to_string()));
    }
    let rate = account.limits.rate_limit;
    let counted = Counted::new(None, account.id, rate, &state.limits.accounts);
    Ok(Payer {
        key: Arc::new(key),
        shown: None,
        counted,
        before_jobs: None,
        is_remembered: false,
        audit: Some(audit),
    })
}

/// What a person is told where it is the key that is refused and not they.
pub fn refused(key: &ApiKey, refusal: &str) -> Error {
    let name = &key.name;
    let detail = format!("{refusal}: the key named `{name}`, which the playground uses");
    Error::new(ErrorKind::Forbidden, detail)
}

async fn find_or_issue(
    state: &AppState,
    caller: &Caller,
    account: AccountId,
) -> Result<ApiKey, Error> {
    // Only a new key takes a turn, so that no picture waits for others' changes.
    if let Some(key) = find(state, account).await? {
        return Ok(key);
    }
    let turn = state.operator.take().await?;
    // Of two callers who begin at the same time, one is the first.
    if let Some(key) = find(state, account).await? {
        return Ok(key);
    }
    let named = |key| ApiKey {
        name: NAME.into(),
        ..key
    };
    let note = |key: &ApiKey| state.store.set_panel_key(key);
    let (_, key) = api_keys::issue(state, turn, caller, account, named, note).await?;
    Ok(key)
}

async fn find(state: &AppState, account: AccountId) -> Result<Option<ApiKey>, StoreError> {
    match state.store.panel_key(account).await? {
        Some(id) => Ok(state.store.key(id).await?.map(|(_, key)| key)),
        None => Ok(None),
    }
}
