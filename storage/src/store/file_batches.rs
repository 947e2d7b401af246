//! Deletes batches whose file was invalid.

use super::tables::{FILE_BATCHES, IDEMPOTENCY};
use super::{IdempotencyRecord, IdempotentCall, Made, Store, StoreError, Writes};
use crate::domain::file_batch::{FileBatch, Validation};
use crate::domain::ids::{AccountId, BatchId};
use crate::domain::time::Timestamp;
use crate::engine::Key;
use std::collections::HashSet;

impl Store {
    /// Deletes the batches that failed before a time, and to which no idempotency key refers, among the next `limit` from `cursor` on.
    /// Returns the next cursor, empty at the end.
    pub async fn delete_failed_file_batches(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        let is_over = |batch: &FileBatch| {
            matches!(batch.outcome, Validation::Failed(_)) && batch.created_at < older_than
        };
        let (found, cursor) = FILE_BATCHES
            .delete_where(self, cursor, limit, is_over)
            .await?;
        let (mut writes, mut of_account) = (Writes::new(), None);
        for write in found {
            let Some((account, id)) = FILE_BATCHES.read_key(&write.0) else {
                continue;
            };
            let named = match of_account.take() {
                Some((last, named)) if last == account => named,
                _ => self.batches_named_by_keys(account).await?,
            };
            if !named.contains(&id) {
                writes.push(write);
            }
            of_account = Some((account, named));
        }
        Ok((writes, cursor))
    }

    /// The batches to which idempotency keys of an account refer.
    async fn batches_named_by_keys(
        &self,
        account: AccountId,
    ) -> Result<HashSet<BatchId>, StoreError> {
        let mut named = HashSet::new();
        let visit = |_, record: IdempotencyRecord| {
            if let Made::Batch(id) = record.made {
                named.insert(id);
            }
            Ok(())
        };
        let of_account = (account, IdempotentCall::Submission);
        IDEMPOTENCY.each(self, &of_account, visit).await?;
        Ok(named)
    }
}
