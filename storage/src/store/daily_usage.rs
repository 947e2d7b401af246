//! The daily usage of each key, by account and day.

use super::tables::{DAILY_USAGE, ENDED_JOBS};
use super::{All, DailyUsageKey, Store, StoreError};
use crate::domain::daily_usage::DailyUsage;
use crate::domain::ids::{AccountId, KeyId};
use crate::engine::{Direction, KeyRange};
use std::collections::HashMap;
use std::ops::{ControlFlow, RangeInclusive};
use uuid::Uuid;

/// Records per read of a visit that may end early.
const STEP: usize = 100;

impl Store {
    /// Visits an account's usage on some days, in order of days.
    pub async fn each_daily_usage(
        &self,
        account: AccountId,
        days: RangeInclusive<i64>,
        visit: impl FnMut(DailyUsageKey, DailyUsage) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let range = range_of(account, (*days.start(), KeyId(Uuid::nil())), *days.end());
        DAILY_USAGE.each_in(self, range, visit).await
    }

    /// Visits an account's usage from a day and key up to day `last`, in order of days and keys, until `visit` breaks.
    pub async fn daily_usage_until(
        &self,
        account: AccountId,
        from: (i64, KeyId),
        last: i64,
        mut visit: impl FnMut(DailyUsageKey, DailyUsage) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut range = range_of(account, from, last);
        loop {
            let found = DAILY_USAGE.scan(self, &range, Direction::Rising, STEP);
            let found = found.await?;
            let Some((newest, _)) = found.last() else {
                return Ok(());
            };
            range = range.above(DAILY_USAGE.key(newest));
            let mut found = found.into_iter();
            if found.any(|(key, usage)| visit(key, usage).is_break()) {
                return Ok(());
            }
        }
    }

    /// Recounts all ended jobs from their records.
    pub(crate) async fn count_ended_jobs(
        &self,
    ) -> Result<HashMap<DailyUsageKey, DailyUsage>, StoreError> {
        let mut usage: HashMap<DailyUsageKey, DailyUsage> = HashMap::new();
        ENDED_JOBS
            .each(self, &All, |_, job| {
                if let Some(ended) = job.state.finished_at() {
                    let of_day = usage.entry(DailyUsageKey::of(&job, ended.day()));
                    // A sum out of range is a fault that another check reports.
                    let _ = of_day.or_default().count(&job);
                }
                Ok(())
            })
            .await?;
        Ok(usage)
    }
}

/// The usage of an account from a day and key up to day `last`.
fn range_of(account: AccountId, (day, key): (i64, KeyId), last: i64) -> KeyRange {
    let first = DailyUsageKey { account, day, key };
    // No day follows the last one of all.
    let end = last.checked_add(1).map(|day| DailyUsageKey {
        account,
        day,
        key: KeyId(Uuid::nil()),
    });
    DAILY_USAGE.between(&account, Some(first), end)
}
