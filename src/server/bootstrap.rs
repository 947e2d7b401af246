//! Creates the first account and its first API key in an empty data directory.

use crate::application::Caller;
use crate::application::accounts;
use crate::application::accounts::api_keys;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::services::AccountService;
use tintype_storage::domain::account::{Account, NewAccount};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyChange};
use tintype_storage::store::tables::FIRST_KEY;
use tintype_storage::store::{Mark, Store, StoreError};

/// The name of the first account.
const ACCOUNT: &str = "default";

/// The name of the key that the `generate` command creates for itself and removes at its end.
pub const TEMPORARY_KEY: &str = "generate";
/// Accounts or keys per page.
const PAGE: usize = 100;

/// Returns the oldest account. Creates one if there is none.
pub async fn ensure_account(accounts: &AccountService) -> Result<Account, Error> {
    let core = &accounts.core;
    if let Some(account) = oldest(&core.store).await? {
        return Ok(account);
    }
    let first = NewAccount {
        name: ACCOUNT.into(),
        // The configuration has checked the amount.
        balance: Amount::new(accounts.settings.config.first_run.balance).ok(),
        ..NewAccount::default()
    };
    let guard = core.locks.operator.lock().await?;
    // Two nodes may start at the same time, and the other one may have created it.
    if let Some(account) = oldest(&core.store).await? {
        return Ok(account);
    }
    accounts::create(accounts, guard, &Caller::service(), first, None).await
}

pub(super) async fn oldest(store: &Store) -> Result<Option<Account>, StoreError> {
    let page = store.accounts(1, None).await?;
    Ok(page.items.into_iter().next())
}

/// Issues a first key and returns its text, if the service has never had a key. An operator who has removed all keys gets no new
/// one: the start would write it to the log.
pub async fn issue_first_key(accounts: &AccountService) -> Result<Option<String>, Error> {
    let core = &accounts.core;
    let account = ensure_account(accounts).await?;
    if FIRST_KEY.get(&core.store, &()).await?.is_some() {
        return Ok(None);
    }
    let mark_issued = vec![FIRST_KEY.put(&(), &Mark)];
    if has_permanent_keys(core).await? {
        core.commit(mark_issued).await?;
        return Ok(None);
    }
    let named = KeyChange {
        name: Some("first".into()),
        ..KeyChange::default()
    };
    let guard = core.locks.operator.lock().await?;
    if FIRST_KEY.get(&core.store, &()).await?.is_some() {
        return Ok(None);
    }
    let author = Caller::service();
    let created = api_keys::create_under_lock(core, guard, &author, account.id, named, mark_issued);
    let (text, _) = created.await?;
    Ok(Some(text))
}

/// Ignores the key of a killed `generate`: its text is lost.
async fn has_permanent_keys(core: &Core) -> Result<bool, StoreError> {
    let mut after = None;
    loop {
        let page = core.store.accounts(PAGE, after).await?;
        for account in &page.items {
            let keys = core.store.keys_of(account.id, PAGE, None).await?.items;
            let is_temporary = |key: &ApiKey| key.name == TEMPORARY_KEY && key.expires_at.is_some();
            if keys.iter().any(|key| !is_temporary(key)) {
                return Ok(true);
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(false),
        }
    }
}
