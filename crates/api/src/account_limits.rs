//! The operator's limits of an account.

use crate::api_key::Rate;
use crate::field::{Limit, MaxConcurrent, Nullable, RateLimit};
use crate::schema::Count;
use crate::text::Money;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::account;
use tintype_storage::domain::account_limits::AccountLimitsChange;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::time::Timestamp;

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
#[schemars(deny_unknown_fields)]
pub struct AccountLimits {
    /// The spend limit per day (UTC). Reserved amounts count as spent.
    pub spend_per_day: Option<Money>,
    /// The spend limit per calendar month (UTC). Reserved amounts count as spent.
    pub spend_per_month: Option<Money>,
    /// The rate limit of all keys together.
    pub rate_limit: Option<Rate>,
    /// How many jobs may be queued or processing at the same time.
    #[schemars(with = "Option<Count>")]
    pub max_concurrent: Option<u32>,
    /// The usage of these limits.
    pub used: AccountUse,
}

/// The usage of an account's limits. Values without a limit are `null`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AccountUse {
    /// The charges of the current day (UTC). `reserved` counts in addition.
    pub spent_today: Option<Money>,
    /// The charges of the current calendar month (UTC). `reserved` counts in addition.
    pub spent_this_month: Option<Money>,
    /// The number of queued and processing jobs.
    #[schemars(with = "Option<Count>")]
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
