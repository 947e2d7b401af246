//! What idempotency keys were used for, for as long as they are remembered. The rule is the same for a look-up of the edge and for
//! the decision of a round.

use super::records::UsesOf;
use super::tables::IDEMPOTENCY;
use super::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::domain::time::Timestamp;
use crate::engine::{Ask, Direction, Key};

impl Store {
    /// What an idempotency key stands for at `now`. An expired one stands for nothing, and so does one whose job came to
    /// nothing (see [`Job::frees_idempotency_key`]).
    pub async fn idempotency(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let uses = IDEMPOTENCY
            .read(self, &last_use_of(call, account, name))
            .await?;
        let Some(record) = newest_use(uses, now) else {
            return Ok(None);
        };
        let job = match call {
            IdempotentCall::Generation => self.job(account, JobId(record.made)).await?,
            IdempotentCall::Batch | IdempotentCall::Deposit | IdempotentCall::Opening => None,
        };
        Ok(stands(job.as_ref()).then_some(record))
    }

    /// The writes that remember what an idempotency key was used for.
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

    /// The writes that forget expired keys among the next `limit` records from `cursor` on, and where to go on from:
    /// an empty cursor once the end is reached. They may be committed at any later time: a key that was used anew
    /// meanwhile is not forgotten.
    pub async fn forget_expired(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        IDEMPOTENCY
            .forget(self, cursor, limit, |record| record.expires_at <= now)
            .await
    }
}

/// Reads the use of a key that counts. A new use is made only once all earlier ones have expired or were removed, so it is the
/// one that ends last.
pub(super) fn last_use_of(call: IdempotentCall, account: AccountId, name: &str) -> Ask {
    let uses = UsesOf {
        account,
        call,
        name,
    };
    Ask::Scan(IDEMPOTENCY.range(&uses), Direction::Falling, 1)
}

/// The use that has not expired at `now`, of those that [`last_use_of`] has read.
pub(super) fn newest_use(
    uses: Vec<IdempotencyRecord>,
    now: Timestamp,
) -> Option<IdempotencyRecord> {
    uses.into_iter().next().filter(|it| now < it.expires_at)
}

/// Does a key stand for the job that was made under it? A job that came to nothing is made anew.
pub(super) fn stands(job: Option<&Job>) -> bool {
    !job.is_some_and(Job::frees_idempotency_key)
}
