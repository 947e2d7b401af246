//! Images that were deleted on demand.

use super::tables::DELETED_IMAGES;
use super::{All, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::time::Timestamp;

impl Store {
    /// Was the image deleted on demand?
    pub async fn is_image_deleted(
        &self,
        account: AccountId,
        job: JobId,
    ) -> Result<bool, StoreError> {
        let found = DELETED_IMAGES.get(self, &(account, job)).await?;
        Ok(found.is_some())
    }

    /// The jobs whose images were deleted on demand since `since`.
    pub async fn image_deletions_since(
        &self,
        since: Timestamp,
    ) -> Result<Vec<(AccountId, JobId)>, StoreError> {
        let mut found = Vec::new();
        let each = DELETED_IMAGES.each(self, &All, |job, at| {
            if at >= since {
                found.push(job);
            }
            Ok(())
        });
        each.await?;
        Ok(found)
    }

    /// Records that the image of a job is deleted. The job is no favourite any more.
    pub fn put_deleted_image(&self, account: AccountId, job: JobId, at: Timestamp) -> Writes {
        let mut writes = self.remove_favourite(account, job);
        writes.push(DELETED_IMAGES.put(&(account, job), &at));
        writes
    }
}
