//! The decisions about one account's jobs and money: many decisions per round, one commit per round.
//!
//! A round decides from the records read for it and changes only itself, so the decisions can be repeated with other records.
//! Rounds of an account run one after another; the next one decides when the last commit is durable.

mod admission;
mod batches;
mod deposits;
mod idempotency;
mod initial_reads;
mod owed_delivery;
mod round_records;
mod sharing;
mod state;

pub use admission::MAX_KEYS_WITH_LIVE_JOBS;
pub use initial_reads::InitialReads;
pub use sharing::SharedState;
pub use state::{AccountState, RoundOutcome, StateChange};

use super::commands::{AcceptError, AcceptedJob, AccountChanged, EventError, Limits, NewJob};
use super::deliveries::delivery_writes;
use super::tables::{
    ACCOUNTS, API_KEY_SPENDING, AUDIT_LOG, BATCH_PROGRESS, DAILY_USAGE, ENDED_JOBS, EXPIRIES,
    LEDGER, LIVE_JOBS,
};
use super::{
    DailyUsageKey, Gather as _, IdempotencyKey, IdempotencyRecord, IdempotentCall, Made,
    RoundReads, StoreError,
};
use crate::domain::account::{Account, AccountChange};
use crate::domain::audit_log::AuditEntry;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::delivery::Delivery;
use crate::domain::ids::{JobId, KeyId, TransactionId, moment_of};
use crate::domain::job::{Job, JobEvent, JobState, MoneyStep, Origin, Step, transition};
use crate::domain::ledger::{Balances, EntryKind, LedgerEntry};
use crate::domain::pause::Pause;
use crate::domain::queue_entry::Turns;
use crate::domain::spending::Spending;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::domain::webhook::Webhook;
use admission::AdmissionRequest;
use batches::BatchStep;
use owed_delivery::of_job;
use round_records::RoundRecords;
use state::KeyState;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// A round of this size is full: a few hundred jobs, and a small part of what an engine commits at once.
const MAX_BYTES: usize = 256 * 1024;

/// The decisions of one commit. `next` and `records` are as the decisions so far leave them.
pub struct Decisions<'a> {
    state: &'a AccountState,
    next: StateChange,
    records: RoundRecords<'a>,
    limits: Limits,
    pause: Option<&'a Pause>,
    /// The uses of idempotency keys in this round.
    used: BTreeMap<(IdempotentCall, String), (IdempotencyKey, IdempotencyRecord)>,
    deliveries: Vec<Delivery>,
    /// Jobs that ended without a run.
    left_queue: Vec<(Tier, JobId)>,
}

impl<'a> Decisions<'a> {
    fn new(state: &'a AccountState, reads: &'a RoundReads<'a>, limits: Limits) -> Self {
        Self {
            state,
            next: StateChange::none(state),
            records: RoundRecords::new(reads),
            limits,
            pause: None,
            used: BTreeMap::new(),
            deliveries: Vec::new(),
            left_queue: Vec::new(),
        }
    }

    /// Refuses jobs that `pause` covers.
    pub fn under(self, pause: &'a Pause) -> Self {
        Self {
            pause: Some(pause),
            ..self
        }
    }
}

impl Decisions<'_> {
    /// The account after the decisions so far.
    pub fn account(&self) -> &Account {
        &self.next.account
    }

    /// Is the commit large enough? Later commands join the next round, so no commit delays other accounts for long.
    pub fn is_full(&self) -> bool {
        self.records.bytes >= MAX_BYTES
    }

    fn key(&mut self, id: KeyId) -> &mut KeyState {
        let state = self.state;
        let read = || state.keys.get(&id).cloned().unwrap_or_default();
        self.next.keys.entry(id).or_insert_with(read)
    }

    /// Accepts a job under `id` at `now`, or refuses it.
    pub fn accept(
        &mut self,
        id: JobId,
        new: &NewJob,
        now: Timestamp,
    ) -> Result<AcceptedJob, AcceptError> {
        let admission = AdmissionRequest {
            key: new.key,
            shown: new.shown.as_ref(),
            account_rate_limit: new.account_rate_limit,
            models: &[new.tier],
            jobs: 1,
            price: new.price,
        };
        let terms = self.check_key(&admission, now)?;
        let (call, used) = (IdempotentCall::Submission, new.idempotency.as_ref());
        match self.first_use(call, used, now)? {
            Some(Some(Made::Job(job))) => {
                let replayed = true;
                return Ok(AcceptedJob { job, replayed });
            }
            Some(_) => return Err(AcceptError::KeyReused),
            None => {}
        }
        let served = self.served_turns(admission.models)?;
        let balances = self.admit(&admission, &terms.1, now)?;
        let job = Job {
            id,
            account: self.next.account.id,
            key: new.key,
            tier: new.tier,
            mode: new.mode,
            aspect: new.aspect,
            ratio: new.ratio,
            resolution: new.resolution,
            prompt: new.prompt.clone(),
            callback: new.callback.clone(),
            origin: new.origin.clone(),
            inputs: new.inputs.clone(),
            price: new.price,
            created_at: now,
            state: JobState::Queued,
            options: new.options.recorded(),
        };
        self.next.account.balances = balances;
        if let Some(after) = new.cancel_after {
            self.records
                .put(EXPIRIES.put(&(now.plus(after), id), &job.account));
        }
        self.add_job(&job, &served);
        self.remember(used, Made::Job(id), now);
        Ok(AcceptedJob {
            job: id,
            replayed: false,
        })
    }

    /// Adds a job whose price is reserved.
    fn add_job(&mut self, job: &Job, served: &[Turns; 3]) {
        self.record_id(job.id.0);
        self.queue(job, served);
        self.next.live_jobs += 1;
        self.key(job.key).hold(job.price);
        self.records.put(LIVE_JOBS.put(&(job.account, job.id), job));
    }

    fn known_job(&mut self, id: JobId) -> Result<Option<Job>, StoreError> {
        let key = (self.next.account.id, id);
        match self.records.read(&LIVE_JOBS, &key)? {
            Some(job) => Ok(Some(job)),
            None => self.records.read(&ENDED_JOBS, &key),
        }
    }

    /// Applies an event to a job: state, money and ledger entry in one round. Deletes the record of an expiry even if the job is no
    /// longer queued.
    pub fn apply(
        &mut self,
        id: JobId,
        event: JobEvent,
        entry: TransactionId,
        now: Timestamp,
    ) -> Result<Job, EventError> {
        if let JobEvent::Expire { due } = event {
            self.records.put(EXPIRIES.delete(&(due, id)));
        }
        let job = self.known_job(id)?.ok_or(EventError::NotFound)?;
        let event = self.cancel_if_batch_is_canceled(&job, event)?;
        let step = transition(&job, event, now)?;
        let in_batch = self.batch_step(&job, &step, now);
        let balances = self.next.account.balances;
        // Run everything that can fail first: an error leaves the round unchanged and fit to be committed.
        match step.money {
            MoneyStep::Keep => {
                let in_batch = in_batch?;
                self.records
                    .put(LIVE_JOBS.put(&(self.next.account.id, id), &step.job));
                self.count_in_batch(in_batch);
            }
            MoneyStep::Settle => {
                let balances = self.or_inconsistent(balances.settle(job.price))?;
                let reads = (self.end_of(&step, now), self.spent(job.key), in_batch);
                let (end, spent, in_batch) = reads.gather()?;
                let of_account = self.next.account.spending;
                let ended = end.at;
                let charge = |spent: Spending| spent.charge(job.price, ended);
                let spent = self.or_inconsistent(charge(spent))?;
                let of_account = self.or_inconsistent(of_account.map(charge).transpose())?;
                self.end(&step.job, balances, end);
                self.next.account.spending = of_account;
                self.count_in_batch(in_batch);
                // The day of the charge in the usage. A time filter of the ledger requires that no entry is later than its id.
                let at = moment_of(&entry.0).map_or(ended, |of_id| ended.min(of_id));
                self.charge(&step.job, spent, entry, at);
            }
            MoneyStep::Release => {
                let balances = self.or_inconsistent(balances.release(job.price))?;
                let (end, in_batch) = (self.end_of(&step, now), in_batch).gather()?;
                if job.state == JobState::Queued {
                    self.left_queue.push((job.tier, id));
                }
                self.end(&step.job, balances, end);
                self.count_in_batch(in_batch);
            }
        }
        Ok(step.job)
    }

    /// Collects the effects of a job's end.
    fn end_of(&mut self, step: &Step, now: Timestamp) -> Result<JobEnd, StoreError> {
        let job = &step.job;
        // Never before the time of acceptance, even if the clock was set back.
        let at = job.state.finished_at().unwrap_or(now);
        let usage_key = DailyUsageKey::of(job, at.day());
        let reads = (self.usage(usage_key), self.webhooks_for(job));
        let (mut usage, webhooks) = reads.gather()?;
        let counted = usage.count(job);
        self.or_inconsistent(counted)?;
        Ok(JobEnd {
            at,
            usage_key,
            usage,
            delivery: of_job(job, &webhooks, at, now),
        })
    }

    fn usage(&mut self, key: DailyUsageKey) -> Result<DailyUsage, StoreError> {
        match &self.key(key.key).usage {
            Some((day, usage)) if *day == key.day => Ok(usage.clone()),
            _ => Ok(self.records.read(&DAILY_USAGE, &key)?.unwrap_or_default()),
        }
    }

    /// The webhooks from which a job's receiver is chosen.
    fn webhooks_for(&mut self, job: &Job) -> Result<Arc<Vec<Webhook>>, StoreError> {
        match job.origin {
            Origin::Native => self.records.webhooks(self.next.account.id),
            Origin::Synchronous | Origin::Batch(_) | Origin::Background => Ok(Arc::default()),
        }
    }

    /// Moves a job from the live to the ended jobs.
    fn end(&mut self, job: &Job, balances: Balances, end: JobEnd) {
        self.next.account.balances = balances;
        self.records
            .put(DAILY_USAGE.put(&end.usage_key, &end.usage));
        self.next.live_jobs = self.next.live_jobs.saturating_sub(1);
        let key = self.key(job.key);
        key.usage = Some((end.usage_key.day, end.usage));
        key.release(job.price);
        self.release_taken(job.id);
        self.delete_waiting_caller(job);
        self.records.put(LIVE_JOBS.delete(&(job.account, job.id)));
        self.records
            .put(ENDED_JOBS.put(&(job.account, job.id), job));
        self.owe(end.delivery);
    }

    fn count_in_batch(&mut self, step: Option<BatchStep>) {
        if let Some(step) = step {
            self.next.progress.insert(step.batch, step.progress);
            self.owe(step.delivery);
        }
    }

    fn owe(&mut self, delivery: Option<Delivery>) {
        if let Some(delivery) = delivery {
            self.records.put_all(delivery_writes(&delivery));
            self.deliveries.push(delivery);
        }
    }

    /// `spent` includes this charge.
    fn charge(&mut self, job: &Job, spent: Spending, entry: TransactionId, at: Timestamp) {
        self.key(job.key).spent = Some(spent);
        self.records.put(API_KEY_SPENDING.put(&job.key, &spent));
        self.add_entry(LedgerEntry {
            id: entry,
            kind: EntryKind::Charge,
            amount: job.price.negated(),
            balance_after: self.next.account.balances.balance,
            job: Some(job.id),
            reference: None,
            created_at: at,
        });
    }

    /// Changes the account's name, limits or activity. `None` if nothing changes.
    pub fn change(&mut self, change: AccountChange) -> Result<Option<AccountChanged>, StoreError> {
        let before = self.next.account.clone();
        let mut after = change.apply(before.clone());
        after.spending = match after.limits.spend_limits().any() {
            true => Some(match before.spending {
                Some(spending) => spending,
                None => self.count_spending()?,
            }),
            false => None,
        };
        if after == before {
            return Ok(None);
        }
        self.next.account = after.clone();
        Ok(Some(AccountChanged { before, after }))
    }

    /// Adds an audit entry for a decision of this round.
    pub fn record(&mut self, entry: &AuditEntry) {
        self.records.put(AUDIT_LOG.put(&entry.id, entry));
    }

    fn add_entry(&mut self, entry: LedgerEntry) {
        self.record_id(entry.id.0);
        self.records
            .put(LEDGER.put(&(self.next.account.id, entry.id), &entry));
    }

    /// # Errors
    /// The balances are inconsistent.
    pub fn finish(mut self) -> Result<RoundOutcome, StoreError> {
        if let Some(fault) = self.next.account.balances.fault() {
            return Err(self.inconsistent(fault));
        }
        if self.next.account != self.state.account {
            let write = ACCOUNTS.put(&self.next.account.id, &self.next.account);
            self.records.put(write);
        }
        for (id, progress) in &self.next.progress {
            let key = (self.next.account.id, *id);
            self.records.put(BATCH_PROGRESS.put(&key, progress));
        }
        if !self.records.are_unchanged() {
            self.write_load();
        }
        Ok(RoundOutcome {
            writes: self.records.into_writes(),
            deliveries: self.deliveries,
            left_queue: self.left_queue,
            change: self.next,
        })
    }

    fn or_inconsistent<T, E: Display>(&self, sum: Result<T, E>) -> Result<T, StoreError> {
        sum.map_err(|error| self.inconsistent(error))
    }

    fn inconsistent(&self, fault: impl Display) -> StoreError {
        StoreError::Inconsistent {
            account: self.next.account.id,
            fault: fault.to_string(),
        }
    }
}

/// The effects of a job's end, except its money.
struct JobEnd {
    at: Timestamp,
    usage_key: DailyUsageKey,
    /// The key's usage of the day, including this job.
    usage: DailyUsage,
    delivery: Option<Delivery>,
}
