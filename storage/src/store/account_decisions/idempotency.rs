//! Idempotency keys: their first use, from a record or from the same round.

use super::Decisions;
use crate::domain::ids::{BatchId, JobId};
use crate::domain::time::Timestamp;
use crate::store::commands::IdempotencyUse;
use crate::store::idempotency::{holds_key, last_use_of, newest_use};
use crate::store::tables::{BATCHES, FILE_BATCHES, IDEMPOTENCY};
use crate::store::{IdempotencyKey, IdempotencyRecord, IdempotentCall, StoreError};
use uuid::Uuid;

impl Decisions<'_> {
    /// The id that the key's first use created; `Some(None)` if the first use was a different request.
    pub(super) fn first_use(
        &mut self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        now: Timestamp,
    ) -> Result<Option<Option<Uuid>>, StoreError> {
        let Some(used) = used else { return Ok(None) };
        let account = self.state.account.id;
        let in_batch = (call, used.name.clone());
        let first = match self.used.get(&in_batch) {
            Some(record) => Some(record.clone()),
            None => {
                let uses = last_use_of(call, account, &used.name);
                let uses = self.records.reads.scan(&IDEMPOTENCY, &uses.into())?;
                newest_use(uses.into_iter().map(|(_, it)| it).collect(), now)
            }
        };
        let Some(first) = first else { return Ok(None) };
        let is_in_force = match call {
            IdempotentCall::Generation => holds_key(self.known_job(JobId(first.made))?.as_ref()),
            IdempotentCall::Batch => {
                let batch = (account, BatchId(first.made));
                // A batch whose file was invalid has no other record.
                self.records.read(&BATCHES, &batch)?.is_some()
                    || self.records.read(&FILE_BATCHES, &batch)?.is_some()
            }
            IdempotentCall::Deposit | IdempotentCall::Opening => true,
        };
        if !is_in_force {
            // An old entry would hide the next use if that use ends earlier, after a clock set back.
            self.used.remove(&in_batch);
            let key = IdempotencyKey {
                account,
                call,
                name: in_batch.1,
                expires_at: first.expires_at,
            };
            self.records.put(IDEMPOTENCY.delete(&key));
            return Ok(None);
        }
        Ok(Some(
            (first.fingerprint == used.fingerprint).then_some(first.made),
        ))
    }

    /// Records the use of the key in the same commit.
    pub(super) fn remember(
        &mut self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        made: Uuid,
        now: Timestamp,
    ) {
        let Some(used) = used else { return };
        let record = IdempotencyRecord {
            made,
            fingerprint: used.fingerprint,
            expires_at: now.plus(call.retention(self.limits.idempotency_retention)),
        };
        let key = IdempotencyKey {
            account: self.state.account.id,
            call,
            name: used.name.clone(),
            expires_at: record.expires_at,
        };
        self.records.put(IDEMPOTENCY.put(&key, &record));
        self.used.insert((call, key.name), record);
    }
}
