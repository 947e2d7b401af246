//! Uploaded files, and batches submitted as a file.

use super::tables::{FILE_BATCHES, IDEMPOTENCY, UPLOADED_FILES};
use super::{IdempotencyRecord, IdempotentCall, Page, Store, StoreError, Write, Writes};
use crate::domain::file_batch::{FileBatch, UploadedFile, Validation};
use crate::domain::ids::{AccountId, BatchId, FileId};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use std::collections::HashSet;
use uuid::Uuid;

impl Store {
    /// A file of another account takes as long as a missing one.
    pub async fn uploaded_file(
        &self,
        account: AccountId,
        id: FileId,
    ) -> Result<Option<UploadedFile>, StoreError> {
        UPLOADED_FILES.get(self, &(account, id)).await
    }

    pub async fn uploaded_files(
        &self,
        account: AccountId,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<UploadedFile>, StoreError> {
        UPLOADED_FILES
            .page(self, &account, direction, limit, after)
            .await
    }

    pub fn put_uploaded_file(&self, file: &UploadedFile) -> Write {
        UPLOADED_FILES.put(&(file.account, file.id), file)
    }

    pub fn remove_uploaded_file(&self, file: &UploadedFile) -> Write {
        UPLOADED_FILES.delete(&(file.account, file.id))
    }

    /// Deletes the expired files among the next `limit` from `cursor` on. Returns the next cursor, empty at the end.
    pub async fn forget_uploaded_files(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        UPLOADED_FILES
            .forget(self, cursor, limit, |file| file.is_expired(now))
            .await
    }

    pub async fn file_batch(
        &self,
        account: AccountId,
        id: BatchId,
    ) -> Result<Option<FileBatch>, StoreError> {
        FILE_BATCHES.get(self, &(account, id)).await
    }

    pub async fn file_batches(
        &self,
        account: AccountId,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<FileBatch>, StoreError> {
        FILE_BATCHES
            .page(self, &account, direction, limit, after)
            .await
    }

    /// Adds or changes a batch submitted as a file.
    pub fn put_file_batch(&self, batch: &FileBatch) -> Write {
        FILE_BATCHES.put(&(batch.account, batch.id), batch)
    }

    /// Deletes the batches that failed before a time, and to which no idempotency key refers, among the next `limit` from `cursor` on.
    /// Returns the next cursor, empty at the end.
    pub async fn forget_failed_file_batches(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        let is_over = |batch: &FileBatch| {
            matches!(batch.outcome, Validation::Failed(_)) && batch.created_at < older_than
        };
        let (found, cursor) = FILE_BATCHES.forget(self, cursor, limit, is_over).await?;
        let (mut writes, mut of_account) = (Writes::new(), None);
        for write in found {
            let Some((account, id)) = FILE_BATCHES.read_key(&write.0) else {
                continue;
            };
            let named = match of_account.take() {
                Some((last, named)) if last == account => named,
                _ => self.batches_named_by_keys(account).await?,
            };
            if !named.contains(&id.0) {
                writes.push(write);
            }
            of_account = Some((account, named));
        }
        Ok((writes, cursor))
    }

    /// The batches to which idempotency keys of an account refer.
    async fn batches_named_by_keys(&self, account: AccountId) -> Result<HashSet<Uuid>, StoreError> {
        let mut named = HashSet::new();
        let visit = |_, record: IdempotencyRecord| {
            named.insert(record.made);
            Ok(())
        };
        let of_account = (account, IdempotentCall::Batch);
        IDEMPOTENCY.each(self, &of_account, visit).await?;
        Ok(named)
    }
}
