//! Idempotency keys: their first use, from a record or from the same round.

use super::Decisions;
use crate::domain::ids::{BatchId, JobId};
use crate::domain::time::Timestamp;
use crate::store::commands::IdempotencyUse;
use crate::store::idempotency::{last_use_of, newest_use};
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
        for place in call.places() {
            if let Some(first) = self.use_in_force(*place, &used.name, now)? {
                let is_same = first.fingerprint == used.fingerprint;
                return Ok(Some(is_same.then_some(first.made)));
            }
        }
        Ok(None)
    }

    fn use_in_force(
        &mut self,
        place: IdempotentCall,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<IdempotencyRecord>, StoreError> {
        let account = self.state.account.id;
        let in_place = (place, name.to_owned());
        let first = match self.used.get(&in_place) {
            Some(record) => Some(record.clone()),
            None => {
                let uses = last_use_of(place, account, name);
                let uses = self.records.reads.scan(&IDEMPOTENCY, &uses.into())?;
                newest_use(uses.into_iter().map(|(_, it)| it).collect(), now)
            }
        };
        let Some(first) = first else { return Ok(None) };
        let of_batch = (account, BatchId(first.made));
        let is_in_force = match place {
            // The batch of an earlier command of the round has a new id each time the round decides, so a read of its id as that of a
            // job would never end.
            IdempotentCall::Generation if self.records.has_written(&BATCHES, &of_batch) => true,
            IdempotentCall::Generation => match self.known_job(JobId(first.made))? {
                Some(job) => !job.frees_idempotency_key(),
                None => self.knows_batch(BatchId(first.made))?,
            },
            IdempotentCall::Batch => self.knows_batch(BatchId(first.made))?,
            IdempotentCall::Deposit | IdempotentCall::Opening => true,
        };
        if is_in_force {
            return Ok(Some(first));
        }
        // An old entry would hide the next use if that use ends earlier, after a clock set back.
        self.used.remove(&in_place);
        let key = IdempotencyKey {
            account,
            call: place,
            name: in_place.1,
            expires_at: first.expires_at,
        };
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
        for place in call.places() {
            let key = IdempotencyKey {
                account: self.state.account.id,
                call: *place,
                name: used.name.clone(),
                expires_at: record.expires_at,
            };
            self.records.put(IDEMPOTENCY.put(&key, &record));
            self.used.insert((*place, key.name), record.clone());
        }
    }
}
