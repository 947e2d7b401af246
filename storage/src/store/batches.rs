//! Batches, their progress and their jobs.

use super::tables::{BATCH_PROGRESS, BATCHES};
use super::{All, Page, Part, Store, StoreError};
use crate::domain::batch::{Batch, BatchProgress};
use crate::domain::delivery::DeliveryId;
use crate::domain::ids::{AccountId, BatchId, JobId};
use crate::domain::job::Job;
use crate::engine::Direction;

/// Accounts that one read of the search for a batch covers.
const ACCOUNTS_AT_A_TIME: usize = 200;

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
        Ok(Some((batch, progress)))
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
        let mut after = None;
        loop {
            let page = self.accounts(ACCOUNTS_AT_A_TIME, after).await?;
            for account in &page.items {
                // Ids and the list of accounts rise: no later account can have this batch.
                if account.id.0 > id.0 {
                    return Ok(None);
                }
                if let Some(batch) = BATCHES.get(self, &(account.id, id)).await? {
                    return Ok(Some(batch));
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(None),
            }
        }
    }

    pub async fn progress_of(&self, batch: &Batch) -> Result<BatchProgress, StoreError> {
        let progress = BATCH_PROGRESS.get(self, &(batch.account, batch.id)).await?;
        progress.ok_or_else(|| StoreError::Inconsistent {
            account: batch.account,
            fault: format!("batch {} has no progress on record", batch.id),
        })
    }

    /// Newest first.
    pub async fn batches_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Batch>, StoreError> {
        let page = BATCHES
            .page(self, &account, Direction::Falling, limit, after)
            .await?;
        Ok(page.records())
    }

    pub async fn each_batch(
        &self,
        mut visit: impl FnMut(Batch) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        BATCHES.each(self, &All, |_, batch| visit(batch)).await
    }

    /// Up to `limit` jobs of a batch after `after`, in the order of requests; none at the end.
    pub async fn jobs_of_batch(
        &self,
        batch: &Batch,
        after: Option<JobId>,
        limit: usize,
    ) -> Result<Vec<Job>, StoreError> {
        let from = after.map_or(batch.first, JobId::next);
        self.rising_jobs_of(batch.account, Part::All, from, batch.last, limit)
            .await
    }
}
