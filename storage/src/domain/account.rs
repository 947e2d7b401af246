//! Accounts: the parties that pay.

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
    /// The operator's display name.
    pub name: String,
    pub balances: Balances,
    pub created_at: Timestamp,
    /// Keys of an inactive account are rejected.
    pub active: bool,
    /// The account's people are warned below this balance.
    pub low_balance: Option<Amount>,
    pub limits: AccountLimits,
    /// Counted only while the account has a spend limit.
    pub spending: Option<Spending>,
}

impl Account {
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

    /// Refuses a price that does not fit the spend limits together with the amounts already spent and reserved.
    ///
    /// # Errors
    /// A limit would be exceeded.
    pub fn check_spending(&self, price: Amount, now: Timestamp) -> Result<(), LimitReached> {
        let spent = self.spending.unwrap_or_default();
        let limits = self.limits.spend_limits();
        limits.check(&spent, self.balances.reserved, price, now)
    }

    /// Is the available balance below the warning threshold?
    pub fn is_low(&self) -> bool {
        let available = self.balances.available();
        self.low_balance.is_some_and(|least| available < least)
    }
}

#[derive(Clone, Debug, Default)]
pub struct NewAccount {
    pub name: String,
    /// The opening balance.
    pub balance: Option<Amount>,
    /// The account's people are warned below this balance.
    pub low_balance: Option<Amount>,
    pub limits: AccountLimits,
}

impl NewAccount {
    /// # Errors
    /// The opening balance is out of range.
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

/// A partial update; `None` keeps a value.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    pub name: Option<String>,
    pub active: Option<bool>,
    /// An inner `None` removes the warning threshold.
    pub low_balance: Option<Option<Amount>>,
    /// An inner `None` removes all limits.
    pub limits: Option<Option<AccountLimitsChange>>,
}

impl AccountChange {
    /// Returns the changed account. The spending counters stay as they are.
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
