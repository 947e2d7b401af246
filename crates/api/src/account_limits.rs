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
    /// The most that the account may spend in a day of UTC, over all its keys. `null`: no such limit.
    spend_per_day: Nullable<Limit>,
    /// The most that it may spend in a calendar month of UTC. `null`: no such limit.
    spend_per_month: Nullable<Limit>,
    /// How often all its keys together may call. `null`: no such limit.
    rate_limit: Nullable<RateLimit>,
    /// How many of its jobs may be queued or processing at once. `null`: as many as the configuration says.
    max_concurrent: Nullable<MaxConcurrent>,
});

/// What an account may do at most, with all its keys together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AccountLimits {
    /// The most that it may spend in a day of UTC. What is reserved counts as spent.
    pub spend_per_day: Option<Money>,
    /// The most that it may spend in a calendar month of UTC. What is reserved counts as spent.
    pub spend_per_month: Option<Money>,
    /// How often all its keys together may call.
    pub rate_limit: Option<Rate>,
    /// How many of its jobs may be queued or processing at once.
    #[schemars(with = "Option<Count>")]
    pub max_concurrent: Option<u32>,
    /// What is used of these limits.
    pub used: AccountUse,
}

/// What an account has used of its limits. A figure that no limit counts is `null`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AccountUse {
    /// What it was charged in this day of UTC; `reserved` counts beside it.
    pub spent_today: Option<Money>,
    /// What it was charged in this calendar month of UTC; `reserved` counts beside it.
    pub spent_this_month: Option<Money>,
    /// Its jobs that are queued or processing.
    #[schemars(with = "Option<Count>")]
    pub live_jobs: Option<usize>,
}

impl AccountLimits {
    /// The limits of an account with so many live jobs; `None` where it has no limit.
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
