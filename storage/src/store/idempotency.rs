//! Uses of idempotency keys, as long as they are stored. The lookup at the edge and the decision of a round apply the same
//! rule.

use super::records::UsesOf;
use super::table::Scan;
use super::tables::{BATCHES, FILE_BATCHES, IDEMPOTENCY};
use super::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, BatchId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

impl Store {
    /// The use in force at `now`. An expired use is not in force, nor one whose job frees the key (see
    /// [`Job::frees_idempotency_key`]), nor one whose job or batch was deleted: the retention of keys may have been longer once.
    pub async fn idempotency(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let uses = IDEMPOTENCY
            .read(self, last_use_of(call, account, name))
            .await?;
        let Some(record) = newest_use(uses, now) else {
            return Ok(None);
        };
        let is_in_force = match call {
            IdempotentCall::Generation => {
                holds_key(self.job(account, JobId(record.made)).await?.as_ref())
            }
            IdempotentCall::Batch => {
                let batch = (account, BatchId(record.made));
                BATCHES.get(self, &batch).await?.is_some()
                    || FILE_BATCHES.get(self, &batch).await?.is_some()
            }
            IdempotentCall::Deposit | IdempotentCall::Opening => true,
        };
        Ok(is_in_force.then_some(record))
    }

    pub fn remember_use(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        record: &IdempotencyRecord,
    ) -> Writes {
        let key = IdempotencyKey {
            account,
            call,
            name: name.to_owned(),
            expires_at: record.expires_at,
        };
        vec![IDEMPOTENCY.put(&key, record)]
    }

    /// Deletes expired uses among the next `limit` records from `cursor` on. Returns the next cursor, empty at the end. The
    /// writes may be committed at any later time: they never delete a newer use of the same key.
    pub async fn delete_expired(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        IDEMPOTENCY
            .delete_where(self, cursor, limit, |record| record.expires_at <= now)
            .await
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
    uses: Vec<IdempotencyRecord>,
    now: Timestamp,
) -> Option<IdempotencyRecord> {
    uses.into_iter().next().filter(|it| now < it.expires_at)
}

/// Does the job of a generation call keep its key in use? A deleted job does not.
pub(super) fn holds_key(job: Option<&Job>) -> bool {
    job.is_some_and(|job| !job.frees_idempotency_key())
}
