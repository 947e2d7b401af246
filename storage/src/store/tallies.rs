//! What each key's jobs came to on each day, by account and day.

use super::tables::{ENDED_JOBS, TALLIES};
use super::{All, Store, StoreError};
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::job::Job;
use crate::domain::tally::Tally;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use uuid::Uuid;

/// A day's jobs of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TallyPlace {
    /// Whose.
    pub account: AccountId,
    /// Which day of UTC, counted from 1970-01-01.
    pub day: i64,
    /// Under which key they were asked for.
    pub key: KeyId,
}

impl TallyPlace {
    /// Where a job is counted that ended on this day.
    pub fn of(job: &Job, day: i64) -> Self {
        Self {
            account: job.account,
            day,
            key: job.key,
        }
    }
}

/// A mark that something has been done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark;

impl Store {
    /// What was counted there so far.
    pub fn tally(&self, place: TallyPlace) -> Result<Tally, StoreError> {
        Ok(TALLIES.get(self, &place)?.unwrap_or_default())
    }

    /// Visits an account's tallies from a day on, in the order of days.
    pub fn each_tally_since(
        &self,
        account: AccountId,
        day: i64,
        visit: impl FnMut(TallyPlace, Tally) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let first = TallyPlace {
            account,
            day,
            key: KeyId(Uuid::nil()),
        };
        let range = TALLIES.range(&account).starting_at(TALLIES.key(&first));
        TALLIES.each_in(self, range, visit)
    }

    /// Counts all ended jobs anew, from their records alone.
    pub(crate) fn count_ended_jobs(&self) -> Result<HashMap<TallyPlace, Tally>, StoreError> {
        let mut tallies: HashMap<TallyPlace, Tally> = HashMap::new();
        ENDED_JOBS.each(self, &All, |_, job| {
            if let Some(ended) = job.state.finished_at() {
                let place = TallyPlace::of(&job, ended.day());
                let tally = tallies.entry(place).or_default();
                // Sums past what an amount can say are a fault of the books, which are told as such.
                *tally = tally.with(&job).unwrap_or(*tally);
            }
            Ok(())
        })?;
        Ok(tallies)
    }
}
