//! What an operator allows an account at most, with all its keys together.

use super::amount::Amount;
use super::api_key::RateLimit;
use super::spending::SpendLimits;
use serde::{Deserialize, Serialize};

/// The operator's limits of an account; `None` for no such limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountLimits {
    /// The most that it may spend in a day of UTC.
    pub spend_per_day: Option<Amount>,
    /// The most that it may spend in a calendar month of UTC.
    pub spend_per_month: Option<Amount>,
    /// Calls of all its keys and of its people's playground.
    pub rate_limit: Option<RateLimit>,
    /// Jobs that are not terminal.
    pub max_concurrent: Option<u32>,
}

impl AccountLimits {
    /// Is there any limit at all?
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// What it may spend.
    pub fn spend_limits(&self) -> SpendLimits {
        SpendLimits {
            total: None,
            monthly: self.spend_per_month,
            daily: self.spend_per_day,
        }
    }
}

/// What is asked to be different about the limits. An outer `None` leaves a limit as it is; an inner one removes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccountLimitsChange {
    pub spend_per_day: Option<Option<Amount>>,
    pub spend_per_month: Option<Option<Amount>>,
    pub rate_limit: Option<Option<RateLimit>>,
    pub max_concurrent: Option<Option<u32>>,
}

impl AccountLimitsChange {
    /// The limits as they will be.
    pub fn apply(self, limits: AccountLimits) -> AccountLimits {
        AccountLimits {
            spend_per_day: self.spend_per_day.unwrap_or(limits.spend_per_day),
            spend_per_month: self.spend_per_month.unwrap_or(limits.spend_per_month),
            rate_limit: self.rate_limit.unwrap_or(limits.rate_limit),
            max_concurrent: self.max_concurrent.unwrap_or(limits.max_concurrent),
        }
    }
}
