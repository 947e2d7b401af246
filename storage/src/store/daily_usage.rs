//! The daily usage of each key, by account and day.

use super::tables::{DAILY_USAGE, ENDED_JOBS};
use super::{All, DailyUsageKey, Store, StoreError};
use crate::domain::daily_usage::DailyUsage;
use crate::domain::ids::{AccountId, KeyId};
use std::collections::HashMap;
use uuid::Uuid;

impl Store {
    /// Visits an account's usage since a day, in order of days.
    pub async fn each_daily_usage_since(
        &self,
        account: AccountId,
        day: i64,
        visit: impl FnMut(DailyUsageKey, DailyUsage) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let first = DailyUsageKey {
            account,
            day,
            key: KeyId(Uuid::nil()),
        };
        let range = DAILY_USAGE.between(&account, Some(first), None);
        DAILY_USAGE.each_in(self, range, visit).await
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
