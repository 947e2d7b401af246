//! Images that were deleted on demand.

use super::tables::DELETED_IMAGES;
use super::{Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::time::Timestamp;
use crate::engine::Direction;

impl Store {
    /// Records that the image of a job is deleted. The job is no favourite any more.
    pub fn put_deleted_image(&self, account: AccountId, job: JobId, at: Timestamp) -> Writes {
        let mut writes = self.remove_favourite(account, job);
        writes.push(DELETED_IMAGES.put(&(account, job), &at));
        writes
    }

    /// The jobs from `first` to `last` whose images were deleted on demand.
    pub(super) async fn deleted_images_of(
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
