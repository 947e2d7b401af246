//! The reads that a command's decision always needs. [`RoundReads`](crate::store::RoundReads) collects further ones.

use super::AccountState;
use crate::domain::caller::PresentedKey;
use crate::domain::ids::{BatchId, JobId, KeyId};
use crate::domain::job::JobEvent;
use crate::engine::ReadRequest;
use crate::store::IdempotentCall;
use crate::store::commands::{Deposit, IdempotencyUse, NewBatch, NewJob};
use crate::store::idempotency::last_use_of;
use crate::store::tables::{API_KEYS, API_KEYS_BY_ID, BATCH_PROGRESS, LIVE_JOBS};
use crate::store::webhooks::webhooks_of;

impl AccountState {
    /// For [`Decisions::accept`](super::Decisions::accept).
    pub fn add_reads_to_accept(&self, new: &NewJob, needs: &mut Vec<ReadRequest>) {
        self.add_reads_of_key(new.key, new.shown.as_ref(), needs);
        self.add_reads_of_turn(new.tier, needs);
        self.add_reads_of_use(IdempotentCall::Generation, new.idempotency.as_ref(), needs);
    }

    /// For [`Decisions::accept_batch`](super::Decisions::accept_batch).
    pub fn add_reads_to_accept_batch(&self, new: &NewBatch, needs: &mut Vec<ReadRequest>) {
        self.add_reads_of_key(new.key, new.shown.as_ref(), needs);
        self.add_reads_of_use(IdempotentCall::Batch, new.idempotency.as_ref(), needs);
    }

    /// For [`Decisions::cancel_batch`](super::Decisions::cancel_batch).
    pub fn add_reads_to_cancel_batch(&self, batch: BatchId, needs: &mut Vec<ReadRequest>) {
        needs.push(BATCH_PROGRESS.request(&(self.account.id, batch)));
    }

    /// For [`Decisions::apply`](super::Decisions::apply).
    pub fn add_reads_to_apply(&self, job: JobId, event: &JobEvent, needs: &mut Vec<ReadRequest>) {
        needs.push(LIVE_JOBS.request(&(self.account.id, job)));
        match event {
            JobEvent::Finish { .. }
            | JobEvent::Fail { .. }
            | JobEvent::Cancel
            | JobEvent::Abandon
            | JobEvent::Expire => {
                needs.push(webhooks_of(self.account.id).into());
            }
            JobEvent::Begin { .. } | JobEvent::InputsFetched { .. } | JobEvent::CutOff => {}
        }
    }

    /// For [`Decisions::deposit`](super::Decisions::deposit).
    pub fn add_reads_to_deposit(&self, deposit: &Deposit, needs: &mut Vec<ReadRequest>) {
        self.add_reads_of_use(IdempotentCall::Deposit, deposit.idempotency.as_ref(), needs);
    }

    fn add_reads_of_key(
        &self,
        key: KeyId,
        shown: Option<&PresentedKey>,
        needs: &mut Vec<ReadRequest>,
    ) {
        let cached = self.keys.get(&key).and_then(|it| it.terms.as_ref());
        // A node's cached key only hints at the key's hash: another node may have changed the key.
        if cached.is_none() || self.sharing.is_some() {
            needs.push(API_KEYS_BY_ID.request(&key));
            let cached_hash = || cached.and_then(|it| Some(&it.as_ref()?.0));
            let hash = shown.map(|it| &it.hash).or_else(cached_hash);
            needs.extend(hash.map(|hash| API_KEYS.request(hash)));
        }
    }

    fn add_reads_of_use(
        &self,
        call: IdempotentCall,
        used: Option<&IdempotencyUse>,
        needs: &mut Vec<ReadRequest>,
    ) {
        let uses = used.map(|used| last_use_of(call, self.account.id, &used.name));
        needs.extend(uses.map(ReadRequest::from));
    }
}
