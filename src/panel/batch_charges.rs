//! What ended batches cost: the sum of the prices of their done jobs.

use crate::application::batches::BatchWithProgress;
use crate::application::core::Core;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::batch::{Batch, BatchStatus};
use tintype_storage::domain::ids::{AccountId, BatchId};
use tintype_storage::domain::job::JobState;
use tintype_storage::store::StoreError;

/// Jobs read at a time.
const STEP: usize = 256;
/// Sums in memory. When there are more, they are read again.
const MAX_SUMS: usize = 10_000;

/// Sums of ended batches. They do not change, so the jobs of a batch are read once.
#[derive(Default)]
pub struct BatchCharges(Mutex<HashMap<(AccountId, BatchId), Amount>>);

impl BatchCharges {
    /// `None` until the batch has ended. `budget` is the number of jobs that this call may read; `None` also if the batch has more.
    pub async fn of(
        &self,
        core: &Core,
        (batch, progress): &BatchWithProgress,
        budget: &mut usize,
    ) -> Result<Option<Amount>, StoreError> {
        if progress.status() != BatchStatus::Ended {
            return Ok(None);
        }
        if progress.done == 0 {
            return Ok(Some(Amount::ZERO));
        }
        if progress.failed == 0 {
            return Ok(Some(batch.price));
        }
        let id = (batch.account, batch.id);
        if let Some(sum) = self.sums().get(&id) {
            return Ok(Some(*sum));
        }
        let jobs = usize::try_from(batch.total).unwrap_or(usize::MAX);
        let Some(rest) = budget.checked_sub(jobs) else {
            return Ok(None);
        };
        *budget = rest;
        let sum = charged(core, batch).await?;
        let mut sums = self.sums();
        if sums.len() >= MAX_SUMS {
            sums.clear();
        }
        sums.insert(id, sum);
        Ok(Some(sum))
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<(AccountId, BatchId), Amount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn charged(core: &Core, batch: &Batch) -> Result<Amount, StoreError> {
    let (mut sum, mut after) = (Amount::ZERO, None);
    loop {
        let jobs = core.store.jobs_of_batch(batch, after, STEP).await?;
        let Some(last) = jobs.last() else {
            return Ok(sum);
        };
        after = Some(last.id);
        for job in &jobs {
            if matches!(job.state, JobState::Done { .. }) {
                // Cannot overflow: the sum of all prices is an amount too.
                sum = sum.plus(job.price).unwrap_or(sum);
            }
        }
        tokio::task::yield_now().await;
    }
}
