//! The limits of an account and of its keys: spending and live jobs.

use super::Decisions;
use crate::domain::amount::Amount;
use crate::domain::api_key::ApiKey;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::ids::KeyId;
use crate::domain::spending::Spending;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, ReadRequest};
use crate::store::commands::AcceptError;
use crate::store::tables::{API_KEY_SPENDING, DAILY_USAGE};
use crate::store::{DailyUsageKey, StoreError};
use std::collections::{BTreeMap, HashMap};

impl Decisions<'_> {
    /// Refuses `jobs` new jobs that would exceed the account's or the key's limit of live jobs.
    pub(super) fn check_live_jobs(&mut self, key: &ApiKey, jobs: usize) -> Result<(), AcceptError> {
        let live = self.live_jobs;
        let most = self.limits.max_live(&self.account.limits);
        if live + jobs > most {
            return Err(AcceptError::TooManyLive { live, jobs, most });
        }
        let live = self.key(key.id).live_jobs;
        match key.max_concurrent.map(|most| most as usize) {
            Some(most) if live + jobs > most => {
                Err(AcceptError::TooManyLiveOfKey { live, jobs, most })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a price above the account's spend limits. Reserved amounts count as spent, because each live job may be charged:
    /// so no day and no month is ever charged more than its limit.
    pub(super) fn check_account_spending(
        &self,
        price: Amount,
        now: Timestamp,
    ) -> Result<(), AcceptError> {
        let account = &self.account;
        account
            .check_spending(price, now)
            .map_err(AcceptError::AccountLimit)
    }

    /// Refuses a price above the key's spend limits.
    pub(super) fn check_key_spending(
        &mut self,
        key: &ApiKey,
        price: Amount,
        now: Timestamp,
    ) -> Result<(), AcceptError> {
        let limits = key.spend_limits();
        if !limits.any() {
            return Ok(());
        }
        let spent = self.spent(key.id)?;
        let held = self.key(key.id).held;
        Ok(limits.check(&spent, held, price, now)?)
    }

    pub(super) fn spent(&mut self, key: KeyId) -> Result<Spending, StoreError> {
        if let Some(spent) = self.key(key).spent {
            return Ok(spent);
        }
        let spent = self.read(&API_KEY_SPENDING, &key)?.unwrap_or_default();
        self.key(key).spent = Some(spent);
        Ok(spent)
    }

    /// Sums the account's spending from the daily charges of its keys.
    pub(super) fn count_spending(&mut self) -> Result<Spending, StoreError> {
        let range = DAILY_USAGE.range(&self.account_id());
        let scan = ReadRequest::Scan(range, Direction::Rising, usize::MAX);
        let stored = self.scan_entries(&DAILY_USAGE, scan)?;
        let mut usage: HashMap<DailyUsageKey, DailyUsage> = stored.into_iter().collect();
        usage.extend(
            self.usage
                .iter()
                .map(|(place, usage)| (*place, usage.clone())),
        );
        let mut days: BTreeMap<i64, Amount> = BTreeMap::new();
        let totals = usage.into_iter().map(|(place, it)| (place, it.totals()));
        for (place, totals) in totals.filter(|(_, it)| it.done > 0) {
            let day = days.entry(place.day).or_default();
            let sum = day.plus(totals.spent);
            *day = self.or_inconsistent(sum)?;
        }
        self.or_inconsistent(Spending::of_days(days))
    }
}
