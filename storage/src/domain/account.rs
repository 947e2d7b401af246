//! Who pays.

use super::ids::AccountId;
use super::ledger::Books;
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
    pub books: Books,
    /// When it was opened.
    pub created_at: Timestamp,
}
