//! Accounts.

use crate::account_limits::AccountLimits;
use crate::field::{Flag, Limit, Name, Nullable, Object, OpeningBalance, Optional, Required};
use crate::schema::Off;
use crate::text::{Id, Moment, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::account::{self, AccountChange};
use tintype_storage::domain::account_limits::{self, AccountLimitsChange};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::time::Timestamp;

/// An account that is to be opened.
pub struct NewAccount {
    pub name: String,
    pub balance: Option<Amount>,
    pub low_balance: Option<Amount>,
    pub limits: Option<AccountLimitsChange>,
}

impl From<NewAccount> for account::NewAccount {
    fn from(new: NewAccount) -> Self {
        let limits = new.limits.unwrap_or_default();
        Self {
            name: new.name,
            balance: new.balance,
            low_balance: new.low_balance,
            limits: limits.apply(account_limits::AccountLimits::default()),
        }
    }
}

body!(NewAccount {
    name: Required<Name>,
    /// What it begins with.
    balance: Optional<OpeningBalance>,
    /// When less than this is available, the account's people are warned in the panel.
    low_balance: Optional<Limit>,
    /// What it may do at most, with all its keys together.
    limits: Optional<Object<AccountLimitsChange>>,
});

body!(AccountChange {
    name: Optional<Name>,
    /// Switched on? While it is not, its keys are refused like inactive ones, and its people can look and change nothing. Jobs that were accepted before go on to their end.
    active: Optional<Flag>,
    /// When less than this is available, the account's people are warned in the panel. `null`: never.
    low_balance: Nullable<Limit>,
    /// What it may do at most, with all its keys together. A limit that is not sent stays as it is. `null`: no limits.
    limits: Nullable<Object<AccountLimitsChange>>,
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
    /// Only of an account that has any: what it may do at most, with all its keys together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AccountLimits")]
    pub limits: Option<AccountLimits>,
}

impl Account {
    /// An account with so many live jobs.
    pub fn new(account: account::Account, live_jobs: usize, now: Timestamp) -> Self {
        let Balance {
            balance,
            reserved,
            available,
        } = Balance::from(&account);
        Self {
            limits: AccountLimits::of(&account, live_jobs, now),
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
