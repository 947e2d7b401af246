//! Batches, their progress and their jobs.

use super::tables::{BATCH_PROGRESS, BATCHES};
use super::{Part, Store, StoreError};
use crate::domain::batch::{Batch, BatchProgress};
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, BatchId, JobId};
use crate::domain::job::Job;

impl Store {
    /// A batch of another account takes as long as a missing one.
    pub async fn batch(
        &self,
        account: AccountId,
        id: BatchId,
    ) -> Result<Option<(Batch, BatchProgress)>, StoreError> {
        let Some(batch) = BATCHES.get(self, &(account, id)).await? else {
            return Ok(None);
        };
        let progress = self.progress_of(&batch).await?;
        Ok(progress.map(|progress| (batch, progress)))
    }

    /// A batch of any account.
    ///
    /// A batch with a delivery is found through the delivery, which has the same id. Otherwise the search tries each account.
    pub async fn find_batch(&self, id: BatchId) -> Result<Option<Batch>, StoreError> {
        if let Some(delivery) = self.delivery(DeliveryId(id.0)).await?
            && let Some(batch) = BATCHES.get(self, &(delivery.account, id)).await?
        {
            return Ok(Some(batch));
        }
        self.find_in_accounts(id.0, async |account| {
            BATCHES.get(self, &(account, id)).await
        })
        .await
    }

    /// `None` if retention deleted the batch after the caller had read it.
    pub async fn progress_of(&self, batch: &Batch) -> Result<Option<BatchProgress>, StoreError> {
        let key = (batch.account, batch.id);
        let progress = BATCH_PROGRESS.get(self, &key).await?;
        if progress.is_none() && BATCHES.get(self, &key).await?.is_some() {
            return Err(StoreError::Inconsistent {
                account: batch.account,
                fault: format!("batch {} has no progress on record", batch.id),
            });
        }
        Ok(progress)
    }

    /// Up to `limit` jobs of a batch after `after`, which may be any id, in the order of requests; none at the end.
    pub async fn jobs_of_batch(
        &self,
        batch: &Batch,
        part: Part,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        let from = after.map_or(batch.first, JobId::next).max(batch.first);
        self.rising_jobs_of(batch.account, part, from, batch.last, limit)
            .await
    }
}
