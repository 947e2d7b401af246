//! The reads that are known before a round decides. [`RoundReads`](crate::store::RoundReads) collects further ones.

use super::AccountState;
use crate::domain::caller::PresentedKey;
use crate::domain::ids::{AccountId, BatchId, JobId, KeyId};
use crate::domain::job::JobEvent;
use crate::domain::tier::Tier;
use crate::engine::ReadRequest;
use crate::store::IdempotentCall;
use crate::store::commands::{Deposit, IdempotencyUse, NewBatch, NewJob, Refund};
use crate::store::idempotency::last_use_of;
use crate::store::tables::{
    ACCOUNT_REFUNDS, API_KEYS, API_KEYS_BY_ID, BATCH_PROGRESS, ENDED_JOBS, JOB_REFUNDS, LIVE_JOBS,
    SERVED_TURNS,
};
use crate::store::webhooks::webhooks_of;

/// Collects the initial reads of a round about an account.
pub struct InitialReads<'a> {
    account: AccountId,
    cached: Option<&'a AccountState>,
    requests: Vec<ReadRequest>,
}

impl<'a> InitialReads<'a> {
    /// `cached` is the state of a single process. A node has none and reads the state.
    pub fn new(account: AccountId, cached: Option<&'a AccountState>) -> Self {
        let requests = match cached {
            Some(_) => Vec::new(),
            None => AccountState::shared_state_reads(account).to_vec(),
        };
        Self {
            account,
            cached,
            requests,
        }
    }

    pub fn into_requests(self) -> Vec<ReadRequest> {
        self.requests
    }

    /// For [`Decisions::accept`](super::Decisions::accept).
    pub fn add_for_accept(&mut self, new: &NewJob) {
        self.add_key(new.key, new.shown.as_ref());
        self.add_turns(&[new.tier]);
        self.add_use(IdempotentCall::Submission, new.idempotency.as_ref());
    }

    /// For [`Decisions::accept_batch`](super::Decisions::accept_batch).
    pub fn add_for_accept_batch(&mut self, new: &NewBatch) {
        self.add_key(new.key, new.shown.as_ref());
        self.add_turns(&new.models());
        self.add_use(IdempotentCall::Submission, new.idempotency.as_ref());
    }

    /// For [`Decisions::cancel_batch`](super::Decisions::cancel_batch).
    pub fn add_for_cancel_batch(&mut self, batch: BatchId) {
        let progress = BATCH_PROGRESS.request(&(self.account, batch));
        self.requests.push(progress);
    }

    /// For [`Decisions::apply`](super::Decisions::apply).
    pub fn add_for_apply(&mut self, job: JobId, event: &JobEvent) {
        self.requests.push(LIVE_JOBS.request(&(self.account, job)));
        match event {
            JobEvent::Finish { .. }
            | JobEvent::Fail { .. }
            | JobEvent::Cancel
            | JobEvent::Abandon
            | JobEvent::Unserved
            | JobEvent::Expire { .. } => self.requests.push(webhooks_of(self.account).into()),
            JobEvent::Begin { .. } | JobEvent::InputsFetched { .. } | JobEvent::CutOff => {}
        }
    }

    /// For [`Decisions::deposit`](super::Decisions::deposit).
    pub fn add_for_deposit(&mut self, deposit: &Deposit) {
        self.add_use(IdempotentCall::Deposit, deposit.idempotency.as_ref());
    }

    /// For [`Decisions::refund`](super::Decisions::refund).
    pub fn add_for_refund(&mut self, refund: &Refund) {
        let job = (self.account, refund.job);
        self.requests.extend([
            LIVE_JOBS.request(&job),
            ENDED_JOBS.request(&job),
            JOB_REFUNDS.request(&job),
            ACCOUNT_REFUNDS.request(&self.account),
        ]);
        self.add_use(IdempotentCall::Deposit, refund.idempotency.as_ref());
    }

    fn add_key(&mut self, key: KeyId, shown: Option<&PresentedKey>) {
        let cached = self.cached.and_then(|it| it.keys.get(&key));
        if cached.is_none_or(|it| it.terms.is_none()) {
            self.requests.push(API_KEYS_BY_ID.request(&key));
            let of_hash = shown.map(|it| API_KEYS.request(&it.hash));
            self.requests.extend(of_hash);
        }
    }

    fn add_turns(&mut self, tiers: &[Tier]) {
        if self.cached.is_none() {
            let turns = tiers.iter().map(|it| SERVED_TURNS.request(it));
            self.requests.extend(turns);
        }
    }

    fn add_use(&mut self, call: IdempotentCall, used: Option<&IdempotencyUse>) {
        let Some(used) = used else { return };
        let uses = last_use_of(call, self.account, &used.name);
        self.requests.push(uses.into());
    }
}
