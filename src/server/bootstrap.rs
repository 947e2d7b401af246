//! What an empty data directory begins with: an account with some money, and a key to it.

use crate::application::Caller;
use crate::application::accounts;
use crate::application::api_keys;
use crate::application::error::Error;
use crate::application::state::AppState;
use crate::config::FirstRun;
use tintype_storage::domain::account::{Account, NewAccount};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;
use tintype_storage::domain::ledger::Balances;
use tintype_storage::store::StoreError;

/// The account that is made first.
pub const ACCOUNT: &str = "default";

/// The name of a key that `generate` makes for itself and removes when it is through.
pub const PASSING_KEY: &str = "generate";
/// Keys looked at in one step.
const STEP: usize = 100;

/// The oldest account, which is made if there is none.
pub async fn account(state: &AppState) -> Result<Account, Error> {
    if let Some(account) = oldest(state).await? {
        return Ok(account);
    }
    let balance = opening_balance(&state.config.first_run);
    let is_sound = Balances::default().deposit(balance).is_ok();
    let first = NewAccount {
        name: ACCOUNT.into(),
        balance: is_sound.then_some(balance),
        ..NewAccount::default()
    };
    let guard = state.operator.lock().await?;
    // Once more: of two nodes that start at the same time, one is the first.
    if let Some(account) = oldest(state).await? {
        return Ok(account);
    }
    accounts::create(state, guard, &Caller::service(), first, None).await
}

async fn oldest(state: &AppState) -> Result<Option<Account>, StoreError> {
    let page = state.store.accounts(1, None).await?;
    Ok(page.items.into_iter().next())
}

/// The text of a first key, if the service has never had one. Whoever has removed all keys since gets no other: at the next
/// start it would stand in a log.
pub async fn key(state: &AppState) -> Result<Option<String>, Error> {
    let account = account(state).await?;
    if state.store.had_first_key().await? {
        return Ok(None);
    }
    let first = state.store.note_first_key();
    if has_keys(state).await? {
        state.commit(first).await?;
        return Ok(None);
    }
    let shape = |key| ApiKey {
        name: "first".into(),
        ..key
    };
    let guard = state.operator.lock().await?;
    if state.store.had_first_key().await? {
        return Ok(None);
    }
    let author = Caller::service();
    let (text, _) = api_keys::issue(state, guard, &author, account.id, shape, |_| first).await?;
    Ok(Some(text))
}

/// A key that a killed `generate` left behind does not count: nobody knows its text.
async fn has_keys(state: &AppState) -> Result<bool, StoreError> {
    let mut after = None;
    loop {
        let page = state.store.accounts(STEP, after).await?;
        for account in &page.items {
            let keys = state.store.keys_of(account.id, STEP, None).await?.items;
            let passing = |key: &ApiKey| key.name == PASSING_KEY && key.expires_at.is_some();
            if !keys.iter().all(passing) {
                return Ok(true);
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(false),
        }
    }
}

fn opening_balance(config: &FirstRun) -> Amount {
    Amount::new(config.balance).unwrap_or_default()
}
