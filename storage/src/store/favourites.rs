//! Favourites of an account: jobs whose images retention keeps.

use super::tables::{FAVOURITE_ACCOUNTS, FAVOURITES};
use super::{JobRange, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::time::Timestamp;
use crate::engine::Direction;

/// Favourites per account; the use case that adds one checks the number. Records that are never deleted must be bounded.
pub const MAX_FAVOURITES: usize = 5_000;

impl Store {
    pub async fn is_favourite(&self, account: AccountId, job: JobId) -> Result<bool, StoreError> {
        let found = FAVOURITES.get(self, &(account, job)).await?;
        Ok(found.is_some())
    }

    /// The favourites of an account in a range of ids, newest first: at most `limit`.
    pub async fn favourites_of(
        &self,
        account: AccountId,
        range: JobRange,
        limit: usize,
    ) -> Result<Vec<JobId>, StoreError> {
        let key = |id| (account, id);
        let range = FAVOURITES.between(&account, range.from.map(key), range.below.map(key));
        let found = FAVOURITES
            .scan(self, &range, Direction::Falling, limit)
            .await?;
        Ok(found.into_iter().map(|((_, job), _)| job).collect())
    }

    /// The second record leads from a job to its favourite without its account, for the deletion of old images.
    pub fn put_favourite(&self, account: AccountId, job: JobId, since: Timestamp) -> Writes {
        vec![
            FAVOURITES.put(&(account, job), &since),
            FAVOURITE_ACCOUNTS.put(&job, &account),
        ]
    }

    pub fn remove_favourite(&self, account: AccountId, job: JobId) -> Writes {
        vec![
            FAVOURITES.delete(&(account, job)),
            FAVOURITE_ACCOUNTS.delete(&job),
        ]
    }
}
