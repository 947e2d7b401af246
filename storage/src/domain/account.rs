//! Who pays.

use super::account_limits::{AccountLimits, AccountLimitsChange};
use super::amount::Amount;
use super::ids::AccountId;
use super::ledger::{Balances, LedgerError};
use super::spending::{LimitReached, Spending};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    /// The operator's name for it.
    pub name: String,
    #[serde(rename = "books")]
    pub balances: Balances,
    pub created_at: Timestamp,
    /// Switched on? The keys of one that is not open no door.
    pub active: bool,
    /// Below this the account's people are warned.
    pub low_balance: Option<Amount>,
    #[serde(default)]
    pub limits: AccountLimits,
    /// What it has spent. Counted only while its spending has a limit.
    #[serde(default)]
    pub spending: Option<Spending>,
}

impl Account {
    /// An active account without money.
    pub fn new(id: AccountId, name: String, created_at: Timestamp) -> Self {
        Self {
            id,
            name,
            balances: Balances::default(),
            created_at,
            active: true,
            low_balance: None,
            limits: AccountLimits::default(),
            spending: None,
        }
    }

    /// Refuses a price that the account may not spend beside what it has spent and reserved.
    ///
    /// # Errors
    /// A limit would be passed.
    pub fn check_spending(&self, price: Amount, now: Timestamp) -> Result<(), LimitReached> {
        let spent = self.spending.unwrap_or_default();
        let limits = self.limits.spend_limits();
        limits.check(&spent, self.balances.reserved, price, now)
    }

    /// Is less available than the amount from which on its people are warned?
    pub fn is_low(&self) -> bool {
        let available = self.balances.available();
        self.low_balance.is_some_and(|least| available < least)
    }
}

/// An account that is to be opened.
#[derive(Clone, Debug, Default)]
pub struct NewAccount {
    /// The operator's name for it.
    pub name: String,
    /// What it begins with.
    pub balance: Option<Amount>,
    /// Below this the account's people are warned.
    pub low_balance: Option<Amount>,
    pub limits: AccountLimits,
}

impl NewAccount {
    /// The account as it begins.
    ///
    /// # Errors
    /// The balance is no sum that an account can hold.
    pub fn open(self, id: AccountId, now: Timestamp) -> Result<Account, LedgerError> {
        let is_counted = self.limits.spend_limits().any();
        Ok(Account {
            limits: self.limits,
            spending: is_counted.then(Spending::default),
            balances: Balances::default().deposit(self.balance.unwrap_or_default())?,
            low_balance: self.low_balance,
            ..Account::new(id, self.name, now)
        })
    }
}

/// What is to be changed of an account; `None` stays as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    pub name: Option<String>,
    pub active: Option<bool>,
    /// Another amount below which its people are warned, or none.
    pub low_balance: Option<Option<Amount>>,
    /// Other limits, or none at all.
    pub limits: Option<Option<AccountLimitsChange>>,
}

impl AccountChange {
    /// The account as it will be, but for its spending.
    pub fn apply(self, account: Account) -> Account {
        Account {
            name: self.name.unwrap_or(account.name),
            active: self.active.unwrap_or(account.active),
            low_balance: self.low_balance.unwrap_or(account.low_balance),
            limits: match self.limits {
                Some(Some(change)) => change.apply(account.limits),
                Some(None) => AccountLimits::default(),
                None => account.limits,
            },
            ..account
        }
    }
}
