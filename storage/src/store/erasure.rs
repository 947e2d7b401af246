//! Erases the content of ended jobs in place: the ledger, the daily usage and verification need their records.

use super::table::Scan;
use super::tables::{ATTEMPTS, BATCHES, DELIVERIES, ENDED_JOBS, SEARCH_INDEX};
use super::{Decision, Part, RoundReads, Store, StoreError, Writes};
use crate::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind, SentRequest};
use crate::domain::ids::{AccountId, BatchId, JobId};
use crate::domain::job::Job;
use crate::domain::search_block::{MAX_JOBS, SearchBlock};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key, ReadRequest};
use uuid::Uuid;

impl Store {
    /// Replaces ended jobs of one account, oldest first, by their erased records, and records that their images are deleted. Nothing to
    /// write if all of them are erased.
    ///
    /// The caller holds the lock of content: retention and the search index change the same records.
    pub async fn erase_jobs(
        &self,
        account: AccountId,
        jobs: &[Job],
        at: Timestamp,
    ) -> Result<Writes, StoreError> {
        let mut writes = Writes::new();
        let mut changed = Vec::new();
        for job in jobs {
            let erased = job.erased();
            if job.result_image().is_some() && !self.is_image_deleted(account, job.id).await? {
                writes.extend(self.put_deleted_image(account, job.id, at));
            }
            if erased != *job {
                writes.push(ENDED_JOBS.put(&(account, job.id), &erased));
                changed.push(erased);
            }
        }
        let mut indexed = None;
        for job in &changed {
            if indexed.is_none_or(|last| last < job.id) {
                let (last, block) = self.block_after_erasure(account, job.id, &changed).await?;
                writes.extend(block);
                indexed = Some(last);
            }
        }
        Ok(writes)
    }

    /// The block of the search index that contains `first`, with the erased records of its jobs, and the last job of the block. No block
    /// contains the newest jobs.
    async fn block_after_erasure(
        &self,
        account: AccountId,
        first: JobId,
        erased: &[Job],
    ) -> Result<(JobId, Writes), StoreError> {
        let range = SEARCH_INDEX.between(&account, Some((account, first)), None);
        let blocks = SEARCH_INDEX.scan(self, &range, Direction::Rising, 1);
        let Some(((_, last), block)) = blocks.await?.into_iter().next() else {
            return Ok((JobId(Uuid::max()), Writes::new()));
        };
        let mut jobs = self
            .rising_jobs_of(account, Part::All, block.first, last, MAX_JOBS)
            .await?;
        for job in &mut jobs {
            if let Some(erased) = erased.iter().find(|it| it.id == job.id) {
                job.clone_from(erased);
            }
        }
        let block = SearchBlock::of(&jobs);
        let writes = block.map(|(last, block)| SEARCH_INDEX.put(&(account, last), &block));
        Ok((last, writes.into_iter().collect()))
    }
}

/// The read of [`is_subject_erased`] that is known before the round, for the most frequent kind of deliveries.
pub fn request_subject(account: AccountId, delivery: DeliveryId) -> ReadRequest {
    ENDED_JOBS.request(&(account, JobId(delivery.0)))
}

/// Was the job or batch of a delivery erased after an attempt had built its payload?
pub fn is_subject_erased(
    delivery: &Delivery,
    attempt: &Attempt,
    reads: &RoundReads<'_>,
) -> Result<bool, StoreError> {
    let (account, subject) = (delivery.account, delivery.subject);
    match delivery.kind {
        DeliveryKind::Event => {
            let job = reads.get(&ENDED_JOBS, &(account, JobId(subject)))?;
            Ok(job.is_some_and(|it| it.is_erased()))
        }
        DeliveryKind::Batch => {
            let batch = reads.get(&BATCHES, &(account, BatchId(subject)))?;
            let has_metadata = attempt.sent.as_ref().is_some_and(SentRequest::has_metadata);
            Ok(has_metadata && batch.is_some_and(|it| it.is_without_metadata()))
        }
        DeliveryKind::Test | DeliveryKind::Operator => Ok(false),
    }
}

/// Erases what the attempts of deliveries have sent and received. The deletion of old deliveries locks the same records, so no attempt
/// outlives its delivery.
pub struct AttemptErasure {
    pub account: AccountId,
    /// The account need not have them all.
    pub deliveries: Vec<DeliveryId>,
}

impl AttemptErasure {
    fn keys(&self) -> impl Iterator<Item = (AccountId, DeliveryId)> {
        self.deliveries.iter().map(|id| (self.account, *id))
    }
}

fn attempts_of(delivery: DeliveryId) -> ReadRequest {
    Scan(ATTEMPTS.range(&delivery), Direction::Rising, usize::MAX).into()
}

impl Decision for AttemptErasure {
    type Outcome = ();

    fn locked_keys(&self) -> Vec<Key> {
        self.keys().map(|key| DELIVERIES.key(&key)).collect()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let reads = |key| [DELIVERIES.request(&key), attempts_of(key.1)];
        self.keys().flat_map(reads).collect()
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, ()), StoreError> {
        let mut writes = Writes::new();
        for key in self.keys() {
            if reads.get(&DELIVERIES, &key)?.is_none() {
                continue;
            }
            for (key, attempt) in reads.scan(&ATTEMPTS, &attempts_of(key.1))? {
                if attempt.has_content() {
                    writes.push(ATTEMPTS.put(&key, &attempt.erased()));
                }
            }
        }
        Ok((writes, ()))
    }
}
