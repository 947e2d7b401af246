//! What an empty data directory begins with: an account with some money, and a key to it.

use crate::config::FirstRun;
use crate::http::problem::Problem;
use crate::http::state::AppState;
use crate::http::{issue_key, open_account};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::ledger::Books;
use tintype_storage::store::StoreError;

/// The account that is made first.
pub const ACCOUNT: &str = "default";

/// The oldest account, which is made if there is none.
pub async fn account(state: &AppState) -> Result<Account, Problem> {
    if let Some(account) = state.store.accounts(1, None)?.items.into_iter().next() {
        return Ok(account);
    }
    let balance = opening_balance(&state.config.first_run);
    let books = Books::default().deposit(balance).unwrap_or_default();
    open_account(state, ACCOUNT.into(), books, balance).await
}

/// The text of a first key, if the service has none yet.
pub async fn key(state: &AppState) -> Result<Option<String>, Problem> {
    let account = account(state).await?;
    if has_keys(state)? {
        return Ok(None);
    }
    let (text, _) = issue_key(state, account.id, |key| {
        tintype_storage::domain::api_key::ApiKey {
            name: "first".into(),
            ..key
        }
    })
    .await?;
    Ok(Some(text))
}

fn has_keys(state: &AppState) -> Result<bool, StoreError> {
    let mut after = None;
    loop {
        let page = state.store.accounts(100, after)?;
        for account in &page.items {
            if !state.store.keys_of(account.id, 1, None)?.items.is_empty() {
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
