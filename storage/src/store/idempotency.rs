//! Uses of idempotency keys, as long as they are stored. The lookup at the edge and the decision of a round apply the same
//! rule.

use super::records::UsesOf;
use super::table::Scan;
use super::tables::{BATCHES, FILE_BATCHES, IDEMPOTENCY};
use super::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Made, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, BatchId};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

impl Store {
    /// The use in force at `now`. An expired use is not in force, nor one whose job frees the key (see
    /// [`Job::frees_idempotency_key`](crate::domain::job::Job::frees_idempotency_key)), nor one whose job or batch was deleted: the retention of keys may have been longer once.
    pub async fn idempotency(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let Scan(range, direction, limit) = last_use_of(call, account, name);
        let uses = IDEMPOTENCY.scan(self, &range, direction, limit).await?;
        let Some((_, first)) = newest_use(uses, now) else {
            return Ok(None);
        };
        let is_in_force = match first.made {
            Made::Job(id) => {
                let job = self.job(account, id).await?;
                job.is_some_and(|job| !job.frees_idempotency_key())
            }
            Made::Batch(id) => self.knows_batch(account, id).await?,
            Made::Entry(_) | Made::Account(_) => true,
        };
        Ok(is_in_force.then_some(first))
    }

    /// A batch whose file was invalid has only the record of the file.
    pub(crate) async fn knows_batch(
        &self,
        account: AccountId,
        batch: BatchId,
    ) -> Result<bool, StoreError> {
        let batch = (account, batch);
        Ok(BATCHES.get(self, &batch).await?.is_some()
            || FILE_BATCHES.get(self, &batch).await?.is_some())
    }

    /// Deletes expired uses among the next `limit` records from `cursor` on. Returns the next cursor, empty at the end. The
    /// writes may be committed at any later time: they never delete a newer use of the same key.
    pub async fn delete_expired(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        let is_over = |record: &IdempotencyRecord| record.expires_at <= now;
        IDEMPOTENCY.delete_where(self, cursor, limit, is_over).await
    }
}

/// Reads the use of a key that ends last. Only that one counts, because a new use requires that all earlier ones have expired
/// or were deleted.
pub(super) fn last_use_of(call: IdempotentCall, account: AccountId, name: &str) -> Scan {
    let uses = UsesOf {
        account,
        call,
        name,
    };
    Scan(IDEMPOTENCY.range(&uses), Direction::Falling, 1)
}

/// The use that has not expired at `now`, from the read of [`last_use_of`].
pub(super) fn newest_use(
    uses: Vec<(IdempotencyKey, IdempotencyRecord)>,
    now: Timestamp,
) -> Option<(IdempotencyKey, IdempotencyRecord)> {
    let newest = uses.into_iter().next();
    newest.filter(|(_, it)| now < it.expires_at)
}
