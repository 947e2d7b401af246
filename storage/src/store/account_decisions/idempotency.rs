//! Idempotency keys: their first use, from a record or from the same round.

use super::Decisions;
use crate::domain::ids::BatchId;
use crate::domain::time::Timestamp;
use crate::store::commands::IdempotencyUse;
use crate::store::idempotency::{last_use_of, newest_use};
use crate::store::tables::{BATCHES, FILE_BATCHES, IDEMPOTENCY};
use crate::store::{IdempotencyKey, IdempotencyRecord, IdempotentCall, Made, StoreError};

impl Decisions<'_> {
    /// What the key's first use created; `Some(None)` if the first use was a different request.
    pub(super) fn first_use(
        &mut self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        now: Timestamp,
    ) -> Result<Option<Option<Made>>, StoreError> {
        let Some(used) = used else { return Ok(None) };
        let first = self.use_in_force(call, &used.name, now)?;
        Ok(first.map(|first| (first.fingerprint == used.fingerprint).then_some(first.made)))
    }

    fn use_in_force(
        &mut self,
        call: IdempotentCall,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let account = self.state.account.id;
        let of_round = (call, name.to_owned());
        let first = match self.used.get(&of_round) {
            Some(used) => Some(used.clone()),
            None => {
                let uses = last_use_of(call, account, name);
                newest_use(self.records.reads.scan(&IDEMPOTENCY, &uses.into())?, now)
            }
        };
        let Some((key, first)) = first else {
            return Ok(None);
        };
        let is_in_force = match first.made {
            Made::Job(id) => {
                let job = self.known_job(id)?;
                job.is_some_and(|job| !job.frees_idempotency_key())
            }
            Made::Batch(id) => self.knows_batch(id)?,
            Made::Entry(_) | Made::Account(_) => true,
        };
        if is_in_force {
            return Ok(Some(first));
        }
        // An old entry would hide the next use if that use ends earlier, after a clock set back.
        self.used.remove(&of_round);
        self.records.put(IDEMPOTENCY.delete(&key));
        Ok(None)
    }

    /// A batch whose file was invalid has only the record of the file.
    fn knows_batch(&mut self, batch: BatchId) -> Result<bool, StoreError> {
        let batch = (self.state.account.id, batch);
        Ok(self.records.read(&BATCHES, &batch)?.is_some()
            || self.records.read(&FILE_BATCHES, &batch)?.is_some())
    }

    /// Records the use of the key in the same commit.
    pub(super) fn remember(&mut self, used: Option<&IdempotencyUse>, made: Made, now: Timestamp) {
        let Some(used) = used else { return };
        let call = made.call();
        let key = IdempotencyKey {
            account: self.state.account.id,
            call,
            name: used.name.clone(),
            expires_at: now.plus(call.retention(self.limits.idempotency_retention)),
        };
        let record = IdempotencyRecord {
            made,
            fingerprint: used.fingerprint,
            expires_at: key.expires_at,
        };
        self.records.put(IDEMPOTENCY.put(&key, &record));
        self.used.insert((call, used.name.clone()), (key, record));
    }
}
