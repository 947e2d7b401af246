//! Jobs as they lie in the store: live ones apart from ended ones, so that a restart reads no history.

use super::{Store, StoreError, decode, keys};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::engine::{Direction, Key, KeyRange, Value};
use std::collections::BTreeMap;

/// Which of an account's jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// Those that are not terminal.
    Live,
    /// Those that are.
    Ended,
}

impl Store {
    /// A job of an account. A job of another account is not found, in the same time as one that does not exist.
    pub fn job(&self, account: AccountId, id: JobId) -> Result<Option<Job>, StoreError> {
        // Jobs only ever move from live to ended, so looking in this order misses none that is on its way.
        match self.read(&keys::live_job(account, id))? {
            Some(job) => Ok(Some(job)),
            None => self.read(&keys::ended_job(account, id)),
        }
    }

    /// The jobs of an account within a range of ids, live and ended ones together, newest first: at most `limit`, and never
    /// none while there are some. The next step goes on below the last of them.
    ///
    /// `below` is left out, `from` is not.
    pub fn jobs_of(
        &self,
        account: AccountId,
        part: Part,
        below: Option<JobId>,
        from: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        if below.is_some() && below <= from {
            return Ok(Vec::new());
        }
        let scan = |other: Part, prefix: Key| -> Result<Vec<(Key, Value)>, StoreError> {
            if part == other {
                return Ok(Vec::new());
            }
            let range = within(&prefix, below, from);
            Ok(self.engine().scan(&range, Direction::Falling, limit)?)
        };
        // Live ones first: a job that ends meanwhile is then found twice, and not missed. The ended one is the newer.
        let live = scan(Part::Ended, keys::live_jobs_of(account))?;
        let ended = scan(Part::Live, keys::ended_jobs_of(account))?;
        let mut merged: BTreeMap<[u8; 16], &Value> = BTreeMap::new();
        for (key, value) in live.iter().chain(&ended) {
            let id = keys::last_id(key).ok_or_else(|| StoreError::Damaged {
                kind: "job",
                reason: "its key holds no id".into(),
            })?;
            merged.insert(id, value);
        }
        let newest = merged.into_values().rev().take(limit);
        newest.map(|value| decode(value)).collect()
    }

    /// Is there a live record of this job?
    pub fn live_job_exists(&self, account: AccountId, id: JobId) -> Result<bool, StoreError> {
        Ok(self.engine().get(&keys::live_job(account, id))?.is_some())
    }

    /// Visits every job that is not terminal, in the order of account and acceptance.
    pub fn each_live_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::live_jobs(), |_, job| visit(job))
    }

    /// Visits the live jobs of one account.
    pub fn each_live_job_of(
        &self,
        account: AccountId,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::live_jobs_of(account), |_, job| visit(job))
    }

    /// Visits every terminal job.
    pub fn each_ended_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::ended_jobs(), |_, job| visit(job))
    }
}

fn within(prefix: &[u8], below: Option<JobId>, from: Option<JobId>) -> KeyRange {
    let key = |id: JobId| [prefix, id.as_bytes()].concat();
    let range = KeyRange::prefix(prefix);
    let range = match below {
        Some(id) => range.below(key(id)),
        None => range,
    };
    match from {
        Some(id) => range.starting_at(key(id)),
        None => range,
    }
}
