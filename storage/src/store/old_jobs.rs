//! Deletes ended jobs and batches whose retention is over. The ledger and the daily usage keep what they cost.
//!
//! A job or batch stays while its delivery is on record: each attempt, also of a redelivery, builds the payload from it.
//!
//! Retention counts UTC days, because the daily usage then replaces all jobs of a day in [`verify`](crate::verify).

use super::tables::{
    BATCH_PROGRESS, BATCHES, DELETED_IMAGES, DELIVERIES, ENDED_JOBS, FAVOURITES, FILE_BATCHES,
    IDS_AHEAD, JOB_REFUNDS, JOBS_FORGOTTEN, SEARCH_INDEX,
};
use super::{AccountState, Decision, Part, RoundReads, Store, StoreError, Writes};
use crate::domain::batch::Batch;
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, BatchId, JobId, moment_of};
use crate::domain::job::Job;
use crate::domain::search_block::{MAX_JOBS, SearchBlock};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key, ReadRequest};
use std::time::Duration;
use uuid::Uuid;

/// Batches per step. Their keys must fit a small commit, because only small commits are guaranteed to be atomic.
const BATCH_STEP: usize = 250;

impl Store {
    /// Jobs and batches whose ids are of an earlier time may have been deleted.
    pub(crate) async fn ids_forgotten(&self) -> Result<Timestamp, StoreError> {
        match JOBS_FORGOTTEN.mark(self).await? {
            Timestamp::EPOCH => Ok(Timestamp::EPOCH),
            mark => Ok(mark.max(after(IDS_AHEAD.mark(self).await?))),
        }
    }

    /// Deletes the batches that ended before the day `first_kept` among the next ones from `cursor` on. Returns the next cursor,
    /// empty at the end. [`Self::delete_ended_jobs`] deletes the jobs of deleted batches only.
    pub async fn delete_old_batches(
        &self,
        first_kept: i64,
        cursor: &[u8],
    ) -> Result<(Writes, Key), StoreError> {
        let (found, cursor) = BATCHES.step(self, cursor, BATCH_STEP).await?;
        let mut step = Deletion::default();
        let ahead = IDS_AHEAD.mark(self).await?;
        for (key, batch) in &found {
            let ended = self.progress_of(batch).await?.and_then(|it| it.ended_at);
            let ended = ended.map(|at| last_day(at.max(batch.created_at), batch.id.0, ahead));
            if let Some(day) = ended.filter(|day| *day < first_kept)
                && !self.has_delivery(batch).await?
            {
                step.writes.extend([
                    BATCHES.delete(key),
                    BATCH_PROGRESS.delete(key),
                    FILE_BATCHES.delete(key),
                ]);
                step.ended_on(day);
            }
        }
        Ok((step.finish(self).await?, cursor))
    }

    /// Deletes jobs of one account that ended before the day `first_kept`: those of the next block of the search index from
    /// `cursor` on, with their words in the block. Keeps favourites, and jobs whose batch or delivery exists. Returns the decision that
    /// deletes them, if there are any, and the next cursor, empty at the end.
    pub async fn delete_ended_jobs(
        &self,
        first_kept: i64,
        cursor: &[u8],
    ) -> Result<(Option<JobDeletion>, Key), StoreError> {
        let (first, _) = ENDED_JOBS.step(self, cursor, 1).await?;
        let Some(&((account, first), _)) = first.first() else {
            return Ok((None, Key::new()));
        };
        let ahead = IDS_AHEAD.mark(self).await?;
        let bound = JobId::first_of(Timestamp::of_day(first_kept).max(after(ahead)));
        if first >= bound {
            // No older job follows in this account.
            let cursor = ENDED_JOBS.key(&(account, JobId(Uuid::max())));
            return Ok((None, cursor));
        }
        let blocks = SEARCH_INDEX.between(&account, Some((account, first)), None);
        let blocks = SEARCH_INDEX
            .scan(self, &blocks, Direction::Rising, 1)
            .await?;
        let block = blocks.first().filter(|(_, block)| block.first <= first);
        let (from, to) = match block {
            Some(((_, last), block)) => (block.first, *last),
            // The newest jobs of an account fill no block.
            None => (first, bound),
        };
        let jobs = self
            .rising_jobs_of(account, Part::All, from, to, MAX_JOBS)
            .await?;
        let last = jobs.last().map_or(first, |job| job.id.max(first));
        let cursor = ENDED_JOBS.key(&(account, last));
        let mut needed = FAVOURITES.jobs_in(self, account, from, last).await?;
        needed.extend(self.jobs_with_delivery(account, from, last).await?);
        let without_image = DELETED_IMAGES.jobs_in(self, account, from, last).await?;
        let mut step = Deletion::default();
        let mut deleted = Vec::new();
        let mut kept = Vec::new();
        let mut batch = None;
        for job in jobs {
            let is_needed = needed.contains(&job.id);
            let ended = self.ended_before(&job, first_kept, ahead, &mut batch);
            match ended.await? {
                Some(day) if !is_needed => {
                    let key = (account, job.id);
                    deleted.push(job.id);
                    step.writes.push(ENDED_JOBS.delete(&key));
                    if without_image.contains(&job.id) {
                        step.writes.push(DELETED_IMAGES.delete(&key));
                    }
                    step.ended_on(day);
                }
                _ => kept.push(job),
            }
        }
        if deleted.is_empty() {
            return Ok((None, cursor));
        }
        if let Some((key, _)) = block {
            step.writes.push(SEARCH_INDEX.delete(key));
            let rest = SearchBlock::of(&kept);
            step.writes
                .extend(rest.map(|(last, block)| SEARCH_INDEX.put(&(account, last), &block)));
        }
        let deletion = JobDeletion {
            account,
            jobs: deleted,
            writes: step.finish(self).await?,
        };
        Ok((Some(deletion), cursor))
    }

    /// The jobs from `first` to `last` whose delivery is on record. The delivery of a job has the job's id.
    async fn jobs_with_delivery(
        &self,
        account: AccountId,
        first: JobId,
        last: JobId,
    ) -> Result<Vec<JobId>, StoreError> {
        let key = |job: JobId| (account, DeliveryId(job.0));
        let range = DELIVERIES.between(&account, Some(key(first)), Some(key(last.next())));
        let found = DELIVERIES.scan(self, &range, Direction::Rising, usize::MAX);
        let ids = found.await?.into_iter().map(|((_, id), _)| JobId(id.0));
        Ok(ids.collect())
    }

    /// The day on which a job ended, if that is before `first_kept` and its batch does not exist any more. `batch` remembers whether
    /// the last batch exists.
    async fn ended_before(
        &self,
        job: &Job,
        first_kept: i64,
        ahead: Timestamp,
        batch: &mut Option<(BatchId, bool)>,
    ) -> Result<Option<i64>, StoreError> {
        let ended = job.state.finished_at();
        let ended = ended.map(|at| last_day(at.max(job.created_at), job.id.0, ahead));
        let Some(day) = ended.filter(|day| *day < first_kept) else {
            return Ok(None);
        };
        if let Some(member) = job.member() {
            let exists = match *batch {
                Some((id, exists)) if id == member.batch => exists,
                _ => self.has_batch(job.account, member.batch).await?,
            };
            *batch = Some((member.batch, exists));
            if exists {
                return Ok(None);
            }
        }
        Ok(Some(day))
    }

    /// Is the delivery of this batch, which has its id, on record?
    async fn has_delivery(&self, batch: &Batch) -> Result<bool, StoreError> {
        let key = (batch.account, DeliveryId(batch.id.0));
        Ok(DELIVERIES.get(self, &key).await?.is_some())
    }

    async fn has_batch(&self, account: AccountId, id: BatchId) -> Result<bool, StoreError> {
        Ok(BATCHES.get(self, &(account, id)).await?.is_some())
    }
}

/// Deletes ended jobs of one account, with the sums of their refunds. Between two rounds of the account, because a refund reads its job
/// and may add a sum meanwhile.
pub struct JobDeletion {
    account: AccountId,
    /// Oldest first.
    jobs: Vec<JobId>,
    pub writes: Writes,
}

impl JobDeletion {
    /// The sums of the refunds of all jobs from the first one to the last one.
    fn refunds(&self) -> ReadRequest {
        let key = |job: JobId| (self.account, job);
        let from = self.jobs.first().copied().map(key);
        let below = self.jobs.last().map(|job| key(job.next()));
        let range = JOB_REFUNDS.between(&self.account, from, below);
        ReadRequest::Scan(range, Direction::Rising, usize::MAX)
    }
}

impl Decision for JobDeletion {
    type Outcome = ();

    fn locked_keys(&self) -> Vec<Key> {
        vec![AccountState::lock_of(self.account)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![self.refunds()]
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, ()), StoreError> {
        let refunds = reads.scan(&JOB_REFUNDS, &self.refunds())?;
        let of_deleted = refunds
            .iter()
            .filter(|((_, job), _)| self.jobs.binary_search(job).is_ok())
            .map(|(key, _)| JOB_REFUNDS.delete(key));
        Ok((self.writes.iter().cloned().chain(of_deleted).collect(), ()))
    }
}

/// The day on which a job or batch was created and ended, or that of its id, if the clock was set back meanwhile: verification
/// compares both with the mark. It knows the ids up to `ahead`.
fn last_day(ended: Timestamp, id: Uuid, ahead: Timestamp) -> i64 {
    let of_id = moment_of(&id).filter(|it| *it > ahead);
    of_id.map_or(ended, |it| it.max(ended)).day()
}

/// The time after the last id that is ahead of the clock.
fn after(ahead: Timestamp) -> Timestamp {
    ahead.plus(Duration::from_millis(1))
}

/// One commit that deletes jobs or batches.
#[derive(Default)]
struct Deletion {
    writes: Writes,
    /// The newest day on which one of them ended.
    newest: Option<i64>,
}

impl Deletion {
    fn ended_on(&mut self, day: i64) {
        self.newest = self.newest.max(Some(day));
    }

    /// Adds the mark. It derives from what is deleted: a sweep under a clock far ahead would otherwise blind verification for as
    /// long.
    async fn finish(mut self, store: &Store) -> Result<Writes, StoreError> {
        if let Some(newest) = self.newest {
            let mark = Timestamp::of_day(newest + 1).max(JOBS_FORGOTTEN.mark(store).await?);
            self.writes.push(JOBS_FORGOTTEN.put(&(), &mark));
        }
        Ok(self.writes)
    }
}
