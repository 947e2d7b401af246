//! Stored jobs: live and ended ones are separate, so that a restart does not read history.

use super::tables::{ENDED_JOBS, EXPIRIES, LIVE_JOBS};
use super::{All, Record, Store, StoreError, Table};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key, Value};
use itertools::Itertools as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    Live,
    Ended,
}

impl Part {
    fn has_live(self) -> bool {
        self != Self::Ended
    }

    fn has_ended(self) -> bool {
        self != Self::Live
    }
}

/// A range of ids of jobs.
#[derive(Clone, Copy, Debug)]
pub struct JobRange {
    /// Inclusive.
    pub from: Option<JobId>,
    /// Exclusive.
    pub below: Option<JobId>,
}

impl JobRange {
    pub const ALL: Self = Self::below(None);

    /// All ids, if there is no bound.
    pub const fn below(below: Option<JobId>) -> Self {
        Self { from: None, below }
    }
}

/// A record of a job, not decoded yet.
pub struct StoredJob {
    pub id: JobId,
    table: &'static JobTable,
    value: Value,
}

impl StoredJob {
    pub fn read(&self) -> Result<Job, StoreError> {
        self.table.decode(&self.value)
    }

    /// The job, with texts that stay in the record. This takes half the time of [`Self::read`].
    pub fn read_in_place(&self) -> Result<Job<&str>, StoreError> {
        self.table.decode_ref(&self.value)
    }
}

impl Store {
    /// A job of another account takes as long as a missing one.
    pub async fn job(&self, account: AccountId, id: JobId) -> Result<Option<Job>, StoreError> {
        let stored = self.stored_job(account, id).await?;
        stored.map(|it| it.read()).transpose()
    }

    /// As [`Self::job`], for a reader that decodes the job itself.
    pub async fn stored_job(
        &self,
        account: AccountId,
        id: JobId,
    ) -> Result<Option<StoredJob>, StoreError> {
        // Jobs only move from live to ended, so this order misses no job that moves between the reads.
        for table in [&LIVE_JOBS, &ENDED_JOBS] {
            if let Some(value) = self.engine().get(&table.key(&(account, id))).await? {
                return Ok(Some(StoredJob { id, table, value }));
            }
        }
        Ok(None)
    }

    /// Ended jobs by their ids; `None` for a job that has not ended or was deleted.
    pub async fn ended_jobs(
        &self,
        account: AccountId,
        ids: &[JobId],
    ) -> Result<Vec<Option<Job>>, StoreError> {
        let keys = ids.iter().map(|id| ENDED_JOBS.key(&(account, *id)));
        let keys: Vec<Key> = keys.collect();
        let found = self.engine().get_many(&keys).await?;
        let decode = |it: Option<Value>| it.map(|it| ENDED_JOBS.decode(&it)).transpose();
        found.into_iter().map(decode).collect()
    }

    /// The live and ended jobs of an account in a range of ids, newest first: at most `limit`, and at least one if there are
    /// any. Continue below the last one.
    pub async fn jobs_of(
        &self,
        account: AccountId,
        part: Part,
        range: JobRange,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        let stored = self.stored_jobs_of(account, part, range, limit);
        stored.await?.iter().map(StoredJob::read).collect()
    }

    /// As [`Self::jobs_of`], for a reader that decodes the jobs itself.
    pub async fn stored_jobs_of(
        &self,
        account: AccountId,
        part: Part,
        range: JobRange,
        limit: usize,
    ) -> Result<Vec<StoredJob>, StoreError> {
        self.scan_jobs(account, part, range, Direction::Falling, limit)
            .await
    }

    /// The live and ended jobs of an account in an inclusive range of ids, oldest first: at most `limit`, and at least one if
    /// there are any.
    pub async fn rising_jobs_of(
        &self,
        account: AccountId,
        part: Part,
        from: JobId,
        to: JobId,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        let range = JobRange {
            from: Some(from),
            below: Some(to.next()),
        };
        let stored = self.scan_jobs(account, part, range, Direction::Rising, limit);
        stored.await?.iter().map(StoredJob::read).collect()
    }

    async fn scan_jobs(
        &self,
        account: AccountId,
        part: Part,
        range: JobRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let scan = async |is_read: bool, table: &'static JobTable| -> Result<_, StoreError> {
            let mut stored = Vec::new();
            if is_read {
                let key = |id| (account, id);
                let range = table.between(&account, range.from.map(key), range.below.map(key));
                let pairs = self.engine().scan(&range, direction, limit).await?;
                stored.reserve_exact(pairs.len());
                for (key, value) in pairs {
                    let (_, id) = table.key_of(&key)?;
                    stored.push(StoredJob { id, table, value });
                }
            }
            Ok(stored)
        };
        // Read live jobs first: a job that ends meanwhile is found twice instead of never. The ended record is newer.
        let live = scan(part.has_live(), &LIVE_JOBS).await?;
        let ended = scan(part.has_ended(), &ENDED_JOBS).await?;
        Ok(merge(live, ended, direction, limit))
    }

    /// In the order of account and acceptance.
    pub async fn each_live_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        LIVE_JOBS.each(self, &All, |_, job| visit(job)).await
    }

    /// The first start deadlines after `after`, in the order of time.
    pub async fn expiries(
        &self,
        after: Option<(Timestamp, JobId)>,
        limit: usize,
    ) -> Result<Vec<((Timestamp, JobId), AccountId)>, StoreError> {
        let mut range = EXPIRIES.range(&All);
        if let Some(after) = after {
            range = range.above(EXPIRIES.key(&after));
        }
        EXPIRIES.scan(self, &range, Direction::Rising, limit).await
    }
}

impl<R: Record> Table<(AccountId, JobId), R> {
    /// The jobs from `first` to `last` that have a record.
    pub async fn jobs_in(
        &self,
        store: &Store,
        account: AccountId,
        first: JobId,
        last: JobId,
    ) -> Result<Vec<JobId>, StoreError> {
        let (from, below) = ((account, first), (account, last.next()));
        let range = self.between(&account, Some(from), Some(below));
        let found = self.scan(store, &range, Direction::Rising, usize::MAX);
        Ok(found.await?.into_iter().map(|((_, job), _)| job).collect())
    }
}

/// Merges two lists in the same order. If both contain a job, the ended record wins.
fn merge(
    live: Vec<StoredJob>,
    ended: Vec<StoredJob>,
    direction: Direction,
    limit: usize,
) -> Vec<StoredJob> {
    // Skips the merge, which moves each record again.
    if ended.is_empty() {
        return live;
    }
    if live.is_empty() {
        return ended;
    }
    let merged = live
        .into_iter()
        .merge_join_by(ended, |a, b| match direction {
            Direction::Rising => a.id.cmp(&b.id),
            Direction::Falling => b.id.cmp(&a.id),
        });
    merged
        .map(|it| it.reduce(|_, ended| ended))
        .take(limit)
        .collect()
}

type JobTable = Table<(AccountId, JobId), Job>;
