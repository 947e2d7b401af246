//! Accounts with their limits and ledgers.

use crate::api_key::Rate;
use crate::field::{
    DepositAmount, Flag, Job, Limit, MaxConcurrent, Name, Nullable, Object, OpeningBalance,
    Optional, RateLimit, Reference, Required,
};
use crate::schema::Off;
use crate::text::{Day, EntryWord, Id, Moment, Money, ResolutionWord, TierWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::account::{self, AccountChange};
use tintype_storage::domain::account_limits::{self, AccountLimitsChange};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::daily_usage::UsageTotals;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::domain::time::Timestamp;

/// A step of the erasure of an account.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct AccountErasure {
    /// The number of jobs that this call has erased, or found erased.
    pub jobs: usize,
    /// Send it as `cursor` to continue. `null`: the account is erased.
    pub next_cursor: Option<String>,
}

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
pub struct Account {
    /// The account's id.
    pub account_id: Id,
    /// A display name.
    pub name: String,
    #[serde(flatten)]
    pub money: Balance,
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
        Self {
            money: Balance::from(&account),
            limits: AccountLimits::of(&account, live_jobs, now),
            account_id: account.id.into(),
            name: account.name,
            created_at: account.created_at.into(),
            active: (!account.active).then_some(false),
            low_balance: account.low_balance.map(Money::from),
        }
    }
}

/// The balance of an account.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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

body!(AccountLimitsChange {
    /// The spend limit per day (UTC) over all keys of the account. `null`: no limit.
    spend_per_day: Nullable<Limit>,
    /// The spend limit per calendar month (UTC). `null`: no limit.
    spend_per_month: Nullable<Limit>,
    /// The rate limit of all keys together. `null`: no limit.
    rate_limit: Nullable<RateLimit>,
    /// How many jobs may be queued or processing at the same time. `null`: the limit of the configuration.
    max_concurrent: Nullable<MaxConcurrent>,
});

/// The limits of an account, for all its keys together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountLimits {
    /// The spend limit per day (UTC). Reserved amounts count as spent. `null`: no limit.
    pub spend_per_day: Option<Money>,
    /// The spend limit per calendar month (UTC). Reserved amounts count as spent. `null`: no limit.
    pub spend_per_month: Option<Money>,
    /// The rate limit of all keys together. `null`: no limit.
    pub rate_limit: Option<Rate>,
    /// How many jobs may be queued or processing at the same time. `null`: the limit of the configuration.
    pub max_concurrent: Option<u32>,
    /// The usage of these limits.
    pub used: AccountUse,
}

/// The usage of an account's limits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountUse {
    /// The charges of the current day (UTC). `reserved` counts in addition. `null` without a spend limit.
    pub spent_today: Option<Money>,
    /// The charges of the current calendar month (UTC). `reserved` counts in addition. `null` without a spend limit.
    pub spent_this_month: Option<Money>,
    /// The number of queued and processing jobs. `null` without `max_concurrent`.
    pub live_jobs: Option<usize>,
}

impl AccountLimits {
    /// `None` if the account has no limits.
    pub fn of(account: &account::Account, live_jobs: usize, now: Timestamp) -> Option<Self> {
        let limits = &account.limits;
        if !limits.any() {
            return None;
        }
        let spending = account.spending.as_ref();
        let spent = |period| spending.map(|it| it.within(period, now).into());
        Some(Self {
            spend_per_day: limits.spend_per_day.map(Money::from),
            spend_per_month: limits.spend_per_month.map(Money::from),
            rate_limit: limits.rate_limit.map(Rate::from),
            max_concurrent: limits.max_concurrent,
            used: AccountUse {
                spent_today: spent(Period::Day),
                spent_this_month: spent(Period::Month),
                live_jobs: limits.max_concurrent.map(|_| live_jobs),
            },
        })
    }
}

/// A request to deposit money, to correct a deposit, or to refund a job.
pub struct NewDeposit {
    pub amount: Option<Amount>,
    pub reference: Option<String>,
    pub job_id: Option<JobId>,
}

body!(NewDeposit {
    /// Not zero. A negative amount corrects a deposit. It cannot reduce `balance` below `reserved`. Required without `job_id`. The amount of a refund is positive; the default is all that is not refunded yet.
    amount: Optional<DepositAmount>,
    /// Your reference, such as an invoice number.
    reference: Optional<Reference>,
    /// Refunds this job, which was charged to this account. All refunds of a job together are at most its charge.
    job_id: Optional<Job>,
});

/// A ledger entry.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Transaction {
    /// The entry's id.
    pub transaction_id: Id,
    /// `deposit`: money paid in, or with `job_id` a refund. `charge`: the price of an image. `adjustment`: a negative correction.
    pub kind: EntryWord,
    /// The change of the balance, negative for a charge.
    pub amount: Money,
    /// The balance after this entry.
    pub balance_after: Money,
    /// The job that was charged, or refunded by a deposit. Otherwise `null`.
    pub job_id: Option<Id>,
    /// The operator's reference, or `null`.
    pub reference: Option<String>,
    /// When the entry was written.
    pub created_at: Moment,
}

impl From<LedgerEntry> for Transaction {
    fn from(entry: LedgerEntry) -> Self {
        Self {
            transaction_id: entry.id.into(),
            kind: entry.kind.as_str().into(),
            amount: entry.amount.into(),
            balance_after: entry.balance_after.into(),
            job_id: entry.job.map(Id::from),
            reference: entry.reference,
            created_at: entry.created_at.into(),
        }
    }
}

/// The jobs of one key that ended on one UTC day, for one model and size.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The UTC day on which the jobs ended.
    pub day: Day,
    /// The key of the jobs.
    pub key_id: Id,
    /// The name of the key, also of a deleted one. `null` if it is not known.
    pub key_name: Option<String>,
    /// The model.
    pub model: TierWord,
    /// The resolution.
    pub resolution: ResolutionWord,
    /// Jobs that generated an image.
    pub images: u64,
    /// Jobs that failed or were canceled, which cost nothing.
    pub failed: u64,
    /// The price of the images.
    pub charged: Money,
}

impl Usage {
    /// `day` counts from 1970.
    pub fn new(
        day: i64,
        (key, key_name): (KeyId, Option<String>),
        (tier, resolution): (Tier, Resolution),
        totals: UsageTotals,
    ) -> Self {
        Self {
            day: Timestamp::of_day(day).date().into(),
            key_id: key.into(),
            key_name,
            model: tier.as_str().into(),
            resolution: resolution.as_str().into(),
            images: totals.done,
            failed: totals.failed,
            charged: totals.spent.into(),
        }
    }
}
