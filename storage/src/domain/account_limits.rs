//! The operator's limits for an account and all of its keys together.

use super::amount::Amount;
use super::api_key::RateLimit;
use super::spending::SpendLimits;
use serde::{Deserialize, Serialize};

/// `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountLimits {
    /// Per UTC day.
    pub spend_per_day: Option<Amount>,
    /// Per UTC calendar month.
    pub spend_per_month: Option<Amount>,
    /// Counts calls of all keys and of the panel's playground.
    pub rate_limit: Option<RateLimit>,
    /// Limits the jobs that are not terminal.
    pub max_concurrent: Option<u32>,
}

impl AccountLimits {
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    pub fn spend_limits(&self) -> SpendLimits {
        SpendLimits {
            total: None,
            monthly: self.spend_per_month,
            daily: self.spend_per_day,
        }
    }
}

/// A partial update. An outer `None` keeps a limit; an inner `None` removes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccountLimitsChange {
    pub spend_per_day: Option<Option<Amount>>,
    pub spend_per_month: Option<Option<Amount>>,
    pub rate_limit: Option<Option<RateLimit>>,
    pub max_concurrent: Option<Option<u32>>,
}

impl AccountLimitsChange {
    pub fn apply(self, limits: AccountLimits) -> AccountLimits {
        AccountLimits {
            spend_per_day: self.spend_per_day.unwrap_or(limits.spend_per_day),
            spend_per_month: self.spend_per_month.unwrap_or(limits.spend_per_month),
            rate_limit: self.rate_limit.unwrap_or(limits.rate_limit),
            max_concurrent: self.max_concurrent.unwrap_or(limits.max_concurrent),
        }
    }
}
