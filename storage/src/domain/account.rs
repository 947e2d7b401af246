//! Who pays.

use super::ids::AccountId;
use super::ledger::Balances;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// The operator's name for it.
    pub name: String,
    /// Its money.
    #[serde(rename = "books")]
    pub balances: Balances,
    /// When it was opened.
    pub created_at: Timestamp,
    /// Switched on? The keys of one that is not open no door.
    pub active: bool,
}

/// What is to be changed of an account; `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    /// Another name.
    pub name: Option<String>,
    /// Switched on or off.
    pub active: Option<bool>,
}

impl AccountChange {
    /// The account as it will be.
    pub fn apply(self, account: Account) -> Account {
        Account {
            name: self.name.unwrap_or(account.name),
            active: self.active.unwrap_or(account.active),
            ..account
        }
    }
}
