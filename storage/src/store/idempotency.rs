//! Uses of idempotency keys, as long as they are stored. The lookup at the edge and the decision of a round apply the same
//! rule.

use super::records::UsesOf;
use super::table::Scan;
use super::tables::{BATCHES, FILE_BATCHES, IDEMPOTENCY};
use super::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, BatchId, JobId};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use std::collections::HashSet;
use uuid::Uuid;

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
        for place in call.places() {
            let uses = last_use_of(*place, account, name);
            let uses = IDEMPOTENCY.read(self, uses).await?;
            if let Some(record) = newest_use(uses, now)
                && self.is_in_force(*place, account, record.made).await?
            {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    async fn is_in_force(
        &self,
        place: IdempotentCall,
        account: AccountId,
        made: Uuid,
    ) -> Result<bool, StoreError> {
        match place {
            IdempotentCall::Generation => match self.job(account, JobId(made)).await? {
                Some(job) => Ok(!job.frees_idempotency_key()),
                None => self.knows_batch(account, BatchId(made)).await,
            },
            IdempotentCall::Batch => self.knows_batch(account, BatchId(made)).await,
            IdempotentCall::Deposit | IdempotentCall::Opening => Ok(true),
        }
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

    pub fn remember_use(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        record: &IdempotencyRecord,
    ) -> Writes {
        let key = |place: &IdempotentCall| IdempotencyKey {
            account,
            call: *place,
            name: name.to_owned(),
            expires_at: record.expires_at,
        };
        let places = call.places().iter();
        places
            .map(|place| IDEMPOTENCY.put(&key(place), record))
            .collect()
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
        let found = IDEMPOTENCY.delete_where(self, cursor, limit, is_over);
        let (mut writes, cursor) = found.await?;
        // The records of one use go together: a failed batch is deleted once no key of a batch names it.
        let deleted: HashSet<Key> = writes.iter().map(|(key, _)| key.clone()).collect();
        let keys = deleted.iter().filter_map(|key| IDEMPOTENCY.read_key(key));
        let further = keys.flat_map(|key| {
            let places = key.call.places()[1..].iter();
            let further = places.map(move |call| IdempotencyKey {
                call: *call,
                ..key.clone()
            });
            further.map(|key| IDEMPOTENCY.delete(&key))
        });
        let further: Writes = further.filter(|(key, _)| !deleted.contains(key)).collect();
        writes.extend(further);
        Ok((writes, cursor))
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
