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

/// A request to open an account.
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
    /// The opening balance.
    balance: Optional<OpeningBalance>,
    /// Below this available amount, the panel warns the account's people.
    low_balance: Optional<Limit>,
    /// Limits for all keys of the account together.
    limits: Optional<Object<AccountLimitsChange>>,
});

body!(AccountChange {
    name: Optional<Name>,
    /// Is the account active? Keys of an inactive account are rejected, and its people have read-only access. Jobs accepted before continue.
    active: Optional<Flag>,
    /// Below this available amount, the panel warns the account's people. `null`: never.
    low_balance: Nullable<Limit>,
    /// Limits for all keys of the account together. Limits that you do not send do not change. `null`: no limits.
    limits: Nullable<Object<AccountLimitsChange>>,
});

/// An account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Account {
    /// The account's id.
    pub account_id: Id,
    /// A display name.
    pub name: String,
    /// All deposits minus all charges.
    pub balance: Money,
    /// The amount reserved for jobs that have not ended.
    pub reserved: Money,
    /// The amount that can be spent now: `balance` minus `reserved`.
    pub available: Money,
    /// When the account was opened.
    pub created_at: Moment,
    /// Present only if the account is inactive: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Off")]
    pub active: Option<bool>,
    /// Present only if set. Below this available amount, the panel warns the account's people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub low_balance: Option<Money>,
    /// Present only if the account has limits. They apply to all its keys together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AccountLimits")]
    pub limits: Option<AccountLimits>,
}

impl Account {
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

/// The balance of an account.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Balance {
    /// All deposits minus all charges.
    pub balance: Money,
    /// The amount reserved for jobs that have not ended.
    pub reserved: Money,
    /// The amount that can be spent now: `balance` minus `reserved`.
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
