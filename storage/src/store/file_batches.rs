//! Deletes batches whose file was invalid.

use super::tables::{FAILED_BATCHES_FORGOTTEN, FILE_BATCHES};
use super::{Store, StoreError, Writes};
use crate::domain::file_batch::{FileBatch, Validation};
use crate::domain::ids::{BatchId, JobId, moment_of};
use crate::domain::time::Timestamp;
use crate::engine::Key;
use std::time::Duration;

impl Store {
    /// Deletes the batches that failed before a time, among the next `limit` from `cursor` on. Returns the next cursor, empty at the
    /// end. An idempotency key that refers to a deleted batch is free, as with a deleted job.
    pub async fn delete_failed_file_batches(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        let is_over = |batch: &FileBatch| {
            matches!(batch.outcome, Validation::Failed(_)) && batch.created_at < older_than
        };
        let (found, cursor) = FILE_BATCHES.step(self, cursor, limit).await?;
        let over = found.into_iter().filter(|(_, it)| is_over(it));
        let (mut writes, mut newest) = (Writes::new(), None);
        for (key, batch) in over {
            // The mark derives from what is deleted, as that of jobs.
            newest = newest.max(Some(moment_of(&batch.id.0).unwrap_or(batch.created_at)));
            writes.push(FILE_BATCHES.delete(&key));
        }
        if let Some(newest) = newest {
            let mark = newest.plus(Duration::from_millis(1));
            writes.extend(FAILED_BATCHES_FORGOTTEN.raise(self, mark).await?);
        }
        Ok((writes, cursor))
    }

    /// May a batch with this id have failed and been deleted?
    pub(crate) async fn may_be_forgotten_failure(&self, id: BatchId) -> Result<bool, StoreError> {
        let mark = FAILED_BATCHES_FORGOTTEN.mark(self).await?;
        Ok(id.0 < JobId::first_of(mark).0)
    }
}
