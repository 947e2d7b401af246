//! Uploaded files, and the batches that were submitted as such a file.

use super::tables::{FILE_BATCHES, UPLOADED_FILES};
use super::{All, Page, Store, StoreError, Write, Writes};
use crate::domain::file_batch::{FileBatch, UploadedFile, Validation};
use crate::domain::ids::{AccountId, BatchId, FileId};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

impl Store {
    /// A file of an account. A file of another account is not found, in the same time as one that does not exist.
    pub async fn uploaded_file(
        &self,
        account: AccountId,
        id: FileId,
    ) -> Result<Option<UploadedFile>, StoreError> {
        UPLOADED_FILES.get(self, &(account, id)).await
    }

    /// A page of an account's files.
    pub async fn uploaded_files(
        &self,
        account: AccountId,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<UploadedFile>, StoreError> {
        let page = UPLOADED_FILES
            .page(self, &account, direction, limit, after)
            .await?;
        Ok(page.records())
    }

    /// Visits every file.
    pub async fn each_uploaded_file(
        &self,
        mut visit: impl FnMut(UploadedFile) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        UPLOADED_FILES.each(self, &All, |_, file| visit(file)).await
    }

    /// The write that adds a file.
    pub fn put_uploaded_file(&self, file: &UploadedFile) -> Write {
        UPLOADED_FILES.put(&(file.account, file.id), file)
    }

    /// The write that removes a file.
    pub fn remove_uploaded_file(&self, file: &UploadedFile) -> Write {
        UPLOADED_FILES.delete(&(file.account, file.id))
    }

    /// The writes that remove the files whose time has ended, among the next `limit` from `cursor` on, and where to go on: an
    /// empty cursor once the end is reached.
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

    /// A batch of an account that was submitted as a file.
    pub async fn file_batch(
        &self,
        account: AccountId,
        id: BatchId,
    ) -> Result<Option<FileBatch>, StoreError> {
        FILE_BATCHES.get(self, &(account, id)).await
    }

    /// A page of an account's batches that were submitted as files.
    pub async fn file_batches(
        &self,
        account: AccountId,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<FileBatch>, StoreError> {
        let page = FILE_BATCHES
            .page(self, &account, direction, limit, after)
            .await?;
        Ok(page.records())
    }

    /// The write that adds a batch that was submitted as a file, or changes it.
    pub fn put_file_batch(&self, batch: &FileBatch) -> Write {
        FILE_BATCHES.put(&(batch.account, batch.id), batch)
    }

    /// The writes that remove batches which failed before a moment, among the next `limit` from `cursor` on, and where to go on:
    /// an empty cursor once the end is reached.
    pub async fn forget_failed_file_batches(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        let is_over = |batch: &FileBatch| {
            matches!(batch.outcome, Validation::Failed(_)) && batch.created_at < older_than
        };
        FILE_BATCHES.forget(self, cursor, limit, is_over).await
    }
}
