//! Images that were deleted, on demand or when their retention ended.

use super::tables::{DELETED_IMAGES, IMAGES_FORGOTTEN};
use super::{Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::time::Timestamp;
use crate::engine::Direction;

impl Store {
    /// Images of jobs that ended before this time may have been deleted; later ones only on demand.
    pub async fn images_forgotten(&self) -> Result<Timestamp, StoreError> {
        IMAGES_FORGOTTEN.mark(self).await
    }

    /// Notes that images of jobs that ended before `before` will be deleted.
    pub async fn note_forgotten_images(&self, before: Timestamp) -> Result<Writes, StoreError> {
        IMAGES_FORGOTTEN.raise(self, before).await
    }

    /// Was the image deleted on demand?
    pub async fn is_image_deleted(
        &self,
        account: AccountId,
        job: JobId,
    ) -> Result<bool, StoreError> {
        let found = DELETED_IMAGES.get(self, &(account, job)).await?;
        Ok(found.is_some())
    }

    /// Records that the image of a job is deleted. The job is no favourite any more.
    pub fn put_deleted_image(&self, account: AccountId, job: JobId, at: Timestamp) -> Writes {
        let mut writes = self.remove_favourite(account, job);
        writes.push(DELETED_IMAGES.put(&(account, job), &at));
        writes
    }

    /// The jobs from `first` to `last` whose images were deleted on demand.
    pub async fn deleted_images_of(
        &self,
        account: AccountId,
        first: JobId,
        last: JobId,
    ) -> Result<Vec<JobId>, StoreError> {
        let (from, below) = ((account, first), (account, last.next()));
        let range = DELETED_IMAGES.between(&account, Some(from), Some(below));
        let found = DELETED_IMAGES.scan(self, &range, Direction::Rising, usize::MAX);
        let ids = found.await?.into_iter().map(|((_, job), _)| job);
        Ok(ids.collect())
    }
}
