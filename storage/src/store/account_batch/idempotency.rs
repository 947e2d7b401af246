//! What a batch knows of idempotency keys: their first use, in the store or in the batch itself.

use super::Batch;
use crate::domain::ids::JobId;
use crate::domain::time::Timestamp;
use crate::store::commands::IdempotencyUse;
use crate::store::tables::IDEMPOTENCY;
use crate::store::{IdempotencyKey, IdempotencyRecord, IdempotentCall, StoreError};
use uuid::Uuid;

impl Batch<'_> {
    /// What the first use of the key made; `Some(None)` when that was another request.
    pub(super) fn first_use(
        &mut self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        now: Timestamp,
    ) -> Result<Option<Option<Uuid>>, StoreError> {
        let Some(used) = used else { return Ok(None) };
        let account = self.book.account.id;
        let in_batch = (call, used.name.clone());
        let first = match self.used.get(&in_batch) {
            Some(record) => Some(record.clone()),
            None => self.store.last_use(call, account, &used.name, now)?,
        };
        let Some(first) = first else { return Ok(None) };
        if call == IdempotentCall::Generation {
            let job = self.known_job(JobId(first.made))?;
            if job.is_some_and(|job| job.came_to_nothing()) {
                // Left there, it would hide the next use, should that end earlier: after a clock set back.
                self.used.remove(&in_batch);
                let key = IdempotencyKey {
                    account,
                    call,
                    name: in_batch.1,
                    expires_at: first.expires_at,
                };
                self.put(IDEMPOTENCY.delete(&key));
                return Ok(None);
            }
        }
        Ok(Some(
            (first.fingerprint == used.fingerprint).then_some(first.made),
        ))
    }

    /// Has the key stand for what was made under it, in the commit of that.
    pub(super) fn remember(
        &mut self,
        call: IdempotentCall,
        used: Option<IdempotencyUse>,
        made: Uuid,
        now: Timestamp,
    ) {
        let Some(used) = used else { return };
        let expires_at = now.plus(self.limits.idempotency_retention);
        let record = IdempotencyRecord {
            made,
            fingerprint: used.fingerprint,
            expires_at,
        };
        let account = self.book.account.id;
        let key = IdempotencyKey {
            account,
            call,
            name: used.name,
            expires_at,
        };
        self.put(IDEMPOTENCY.put(&key, &record));
        self.used.insert((call, key.name), record);
    }
}
