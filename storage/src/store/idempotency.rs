//! What idempotency keys were used for, for as long as they are remembered.

use super::records::UsesOf;
use super::tables::IDEMPOTENCY;
use super::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Store, StoreError, Writes};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

impl Store {
    /// What an idempotency key stands for at `now`. An expired one stands for nothing, and so does one whose job came to
    /// nothing (see [`Job::came_to_nothing`](crate::domain::job::Job::came_to_nothing)).
    pub fn idempotency(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let Some(record) = self.last_use(call, account, name, now)? else {
            return Ok(None);
        };
        let came_to_nothing = match call {
            IdempotentCall::Generation => {
                let job = self.job(account, JobId(record.made))?;
                job.is_some_and(|job| job.came_to_nothing())
            }
            IdempotentCall::Deposit | IdempotentCall::Opening => false,
        };
        Ok((!came_to_nothing).then_some(record))
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

    /// The use of an idempotency key that has not expired at `now`, whatever came of it.
    pub(super) fn last_use(
        &self,
        call: IdempotentCall,
        account: AccountId,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let uses = IDEMPOTENCY.range(&UsesOf {
            account,
            call,
            name,
        });
        // A new use is only made once all earlier ones have expired or were taken away, so the one that ends last is the
        // one that counts.
        let last = self.engine().scan(&uses, Direction::Falling, 1).wait()?;
        let record = last.first().map(|(_, value)| IDEMPOTENCY.decode(value));
        let record = record.transpose()?;
        Ok(record.filter(|it| now < it.expires_at))
    }

    /// The writes that forget expired keys among the next `limit` records from `cursor` on, and where to go on from:
    /// an empty cursor once the end is reached. They may be committed at any later time: a key that was used anew
    /// meanwhile is not forgotten.
    pub fn forget_expired(
        &self,
        now: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        IDEMPOTENCY.forget(self, cursor, limit, |record| record.expires_at <= now)
    }
}
