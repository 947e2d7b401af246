//! Accounts.

use crate::field::{Flag, Limit, Name, Nullable, OpeningBalance, Optional, Required};
use crate::schema::Off;
use crate::text::{Id, Moment, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::account::{self, AccountChange, NewAccount};

body!(NewAccount {
    name: Required<Name>,
    /// What it begins with.
    balance: Optional<OpeningBalance>,
    /// When less than this is available, the account's people are warned in the panel.
    low_balance: Optional<Limit>,
});

body!(AccountChange {
    name: Optional<Name>,
    /// Switched on? While it is not, its keys are refused like inactive ones, and its people can look and change nothing. Jobs that were accepted before go on to their end.
    active: Optional<Flag>,
    /// When less than this is available, the account's people are warned in the panel. `null`: never.
    low_balance: Nullable<Limit>,
});

/// An account on the wire.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Account {
    /// The account's id.
    pub account_id: Id,
    /// A name for people.
    pub name: String,
    /// What has been paid in and not been charged.
    pub balance: Money,
    /// What is held for jobs that are not over.
    pub reserved: Money,
    /// What can be spent now.
    pub available: Money,
    /// When it was opened.
    pub created_at: Moment,
    /// Only of an account that is switched off: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Off")]
    pub active: Option<bool>,
    /// Only of an account that has it: when less than this is available, its people are warned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub low_balance: Option<Money>,
}

impl From<account::Account> for Account {
    fn from(account: account::Account) -> Self {
        let Balance {
            balance,
            reserved,
            available,
        } = Balance::from(&account);
        Self {
            account_id: account.id.into(),
            name: account.name,
            balance,
            reserved,
            available,
            created_at: account.created_at.into(),
            active: (!account.active).then_some(false),
            low_balance: account.low_balance.map(Money::from),
        }
    }
}

/// An account's money as its owner sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Balance {
    /// What has been paid in and not been charged.
    pub balance: Money,
    /// What is held for jobs that are not over.
    pub reserved: Money,
    /// What can be spent now.
    pub available: Money,
}

impl From<&account::Account> for Balance {
    fn from(account: &account::Account) -> Self {
        Self {
            balance: account.balances.balance.into(),
            reserved: account.balances.reserved.into(),
            available: account.balances.available().into(),
        }
    }
}
