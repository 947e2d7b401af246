//! The decisions about one account's jobs and money: many decisions per round, one commit per round.
//!
//! A round decides from the records read for it and changes only itself, so the decisions can be repeated with other records.
//! Rounds of an account run one after another; the next one decides when the last commit is durable.

mod admission;
mod batches;
mod idempotency;
mod needs;
mod owed_delivery;
mod read_set;
mod sharing;
mod state;

pub use admission::MAX_KEYS_WITH_LIVE_JOBS;
pub use read_set::{Pairs, ReadSet};
pub use sharing::SharedState;
pub use state::{AccountState, RoundOutcome, StateChange};

use super::commands::{
    AcceptError, AcceptedJob, AccountChanged, Deposit, DepositError, EventError, Limits, NewJob,
};
use super::deliveries::delivery_writes;
use super::tables::{
    ACCOUNTS, API_KEY_SPENDING, AUDIT_LOG, BATCH_PROGRESS, DAILY_USAGE, ENDED_JOBS, EXPIRIES,
    LEDGER, LIVE_JOBS, WEBHOOKS,
};
use super::webhooks::webhooks_of;
use super::{DailyUsageKey, IdempotencyRecord, IdempotentCall, StoreError, Write, Writes};
use crate::domain::account::{Account, AccountChange};
use crate::domain::audit_log::AuditEntry;
use crate::domain::batch::BatchProgress;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::delivery::Delivery;
use crate::domain::ids::{BatchId, JobId, KeyId, TransactionId};
use crate::domain::job::{Job, JobEvent, JobState, MoneyStep, Origin, Step, transition};
use crate::domain::ledger::{Balances, EntryKind, LedgerEntry};
use crate::domain::pause::Pause;
use crate::domain::queue_entry::Turns;
use crate::domain::spending::Spending;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::domain::webhook::Webhook;
use crate::engine::{Key, ReadRequest, Value, write_size};
use admission::AdmissionRequest;
use batches::BatchStep;
use owed_delivery::of_job;
use state::{KeyState, Sharing};
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

/// A round of this size is full: a few hundred jobs, and a small part of what an engine commits at once.
const MAX_BYTES: usize = 256 * 1024;

/// The decisions of one commit.
pub struct Decisions<'a> {
    state: &'a AccountState,
    read_set: &'a dyn ReadSet,
    unread: Vec<ReadRequest>,
    limits: Limits,
    pause: Option<&'a Pause>,
    writes: HashMap<Key, Option<Value>>,
    bytes: usize,
    // After the decisions so far.
    account: Account,
    account_changed: bool,
    live_jobs: usize,
    keys: HashMap<KeyId, KeyState>,
    jobs: HashMap<JobId, Job>,
    entries: HashMap<TransactionId, LedgerEntry>,
    used: HashMap<(IdempotentCall, String), IdempotencyRecord>,
    usage: HashMap<DailyUsageKey, DailyUsage>,
    webhooks: Option<Arc<Vec<Webhook>>>,
    deliveries: Vec<Delivery>,
    /// Jobs that ended without a run.
    left_queue: Vec<(Tier, JobId)>,
    /// Changed batches, after the decisions so far.
    progress: HashMap<BatchId, BatchProgress>,
    sharing: Option<Sharing>,
}

impl<'a> Decisions<'a> {
    fn new(state: &'a AccountState, read_set: &'a dyn ReadSet, limits: Limits) -> Self {
        Self {
            state,
            read_set,
            unread: Vec::new(),
            limits,
            pause: None,
            writes: HashMap::new(),
            bytes: 0,
            account: state.account.clone(),
            account_changed: false,
            live_jobs: state.live_jobs,
            keys: HashMap::new(),
            jobs: HashMap::new(),
            entries: HashMap::new(),
            used: HashMap::new(),
            usage: HashMap::new(),
            webhooks: None,
            deliveries: Vec::new(),
            left_queue: Vec::new(),
            progress: HashMap::new(),
            sharing: state.sharing.clone(),
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
        &self.account
    }

    fn put(&mut self, (key, value): Write) {
        self.bytes += write_size(&key, value.as_ref());
        self.writes.insert(key, value);
    }

    fn put_all(&mut self, writes: Writes) {
        writes.into_iter().for_each(|write| self.put(write));
    }

    /// Is the commit large enough? Later commands join the next round, so no commit delays other accounts for long.
    pub fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    fn key(&mut self, id: KeyId) -> &mut KeyState {
        let state = self.state;
        let read = || state.keys.get(&id).cloned().unwrap_or_default();
        self.keys.entry(id).or_insert_with(read)
    }

    /// Accepts a job under `id` at `now`, or refuses it.
    pub fn accept(
        &mut self,
        id: JobId,
        new: &NewJob,
        now: Timestamp,
    ) -> Result<AcceptedJob, AcceptError> {
        let call = IdempotentCall::Generation;
        let admission = AdmissionRequest {
            key: new.key,
            shown: new.shown.as_ref(),
            account_rate_limit: new.account_rate_limit,
            models: &[new.tier],
            jobs: 1,
            price: new.price,
        };
        let terms = self.check_key(&admission, now)?;
        if let Some(first) = self.first_use(call, new.idempotency.as_ref(), now)? {
            let job = first.ok_or(AcceptError::KeyReused)?;
            return Ok(AcceptedJob {
                job: JobId(job),
                replayed: true,
            });
        }
        let served = self.served_turns(admission.models)?;
        let balances = self.admit(&admission, &terms.1, now)?;
        let job = Job {
            id,
            account: self.account.id,
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
        };
        self.account.balances = balances;
        self.account_changed = true;
        if let Some(after) = new.cancel_after {
            self.put(EXPIRIES.put(&(now.plus(after), id), &job.account));
        }
        self.add_job(&job, &served);
        self.jobs.insert(id, job);
        self.remember(call, new.idempotency.as_ref(), id.0, now);
        Ok(AcceptedJob {
            job: id,
            replayed: false,
        })
    }

    /// Adds a job whose price is reserved.
    fn add_job(&mut self, job: &Job, served: &[Turns; 3]) {
        self.note_id(job.id.0);
        self.queue(job, served);
        self.live_jobs += 1;
        self.key(job.key).hold(job.price);
        self.put(LIVE_JOBS.put(&(job.account, job.id), job));
    }

    fn known_job(&mut self, id: JobId) -> Result<Option<Job>, StoreError> {
        if let Some(job) = self.jobs.get(&id) {
            return Ok(Some(job.clone()));
        }
        let key = (self.account.id, id);
        match self.read(&LIVE_JOBS, &key)? {
            Some(job) => Ok(Some(job)),
            None => self.read(&ENDED_JOBS, &key),
        }
    }

    /// Applies an event to a job: state, money and ledger entry in one round.
    pub fn apply(
        &mut self,
        id: JobId,
        event: JobEvent,
        entry: TransactionId,
        now: Timestamp,
    ) -> Result<Job, EventError> {
        let job = self.known_job(id)?.ok_or(EventError::NotFound)?;
        let event = self.event_for(&job, event)?;
        let step = transition(&job, event, now)?;
        let in_batch = self.batch_step(&job, &step, now);
        let balances = self.account.balances;
        // Run everything that can fail first: an error leaves the round unchanged and fit to be committed.
        match step.money {
            MoneyStep::Keep => {
                let in_batch = in_batch?;
                self.put(LIVE_JOBS.put(&(self.account.id, id), &step.job));
                self.count_in_batch(in_batch);
            }
            MoneyStep::Settle => {
                let balances = self.or_inconsistent(balances.settle(job.price))?;
                // Collect all missing reads at once.
                let (end, spent) = (self.end_of(&step, now), self.spent(job.key));
                let (end, spent, in_batch) = (end?, spent?, in_batch?);
                let of_account = self.account.spending;
                let charge = |spent: Spending| spent.charge(job.price, end.at);
                let spent = self.or_inconsistent(charge(spent))?;
                let of_account = self.or_inconsistent(of_account.map(charge).transpose())?;
                self.end(&step.job, balances, end);
                self.account.spending = of_account;
                self.count_in_batch(in_batch);
                self.charge(&step.job, spent, entry, now);
            }
            MoneyStep::Release => {
                let balances = self.or_inconsistent(balances.release(job.price))?;
                let end = self.end_of(&step, now);
                let (end, in_batch) = (end?, in_batch?);
                if job.state == JobState::Queued {
                    self.left_queue.push((job.tier, id));
                }
                self.end(&step.job, balances, end);
                self.count_in_batch(in_batch);
            }
        }
        self.jobs.insert(id, step.job.clone());
        Ok(step.job)
    }

    /// Applies an expiry that was due at `due`, and deletes its record even if the job is no longer queued.
    pub fn expire(
        &mut self,
        id: JobId,
        due: Timestamp,
        entry: TransactionId,
        now: Timestamp,
    ) -> Result<Job, EventError> {
        self.put(EXPIRIES.delete(&(due, id)));
        self.apply(id, JobEvent::Expire, entry, now)
    }

    /// Collects the effects of a job's end.
    fn end_of(&mut self, step: &Step, now: Timestamp) -> Result<JobEnd, StoreError> {
        let job = &step.job;
        // Never before the time of acceptance, even if the clock was set back.
        let at = job.state.finished_at().unwrap_or(now);
        let usage_key = DailyUsageKey::of(job, at.day());
        let (usage, webhooks) = (self.usage(usage_key), self.webhooks_for(job));
        let mut usage = usage?;
        let counted = usage.count(job);
        self.or_inconsistent(counted)?;
        Ok(JobEnd {
            at,
            usage_key,
            usage,
            delivery: of_job(job, &webhooks?, at, now),
        })
    }

    fn usage(&mut self, key: DailyUsageKey) -> Result<DailyUsage, StoreError> {
        if let Some(usage) = self.usage.get(&key) {
            return Ok(usage.clone());
        }
        match &self.key(key.key).usage {
            Some((day, usage)) if *day == key.day => Ok(usage.clone()),
            _ => Ok(self.read(&DAILY_USAGE, &key)?.unwrap_or_default()),
        }
    }

    /// The webhooks from which a job's receiver is chosen.
    fn webhooks_for(&mut self, job: &Job) -> Result<Arc<Vec<Webhook>>, StoreError> {
        match job.origin {
            Origin::Native => self.registered_webhooks(),
            Origin::Synchronous | Origin::Batch(_) => Ok(Arc::default()),
        }
    }

    fn registered_webhooks(&mut self) -> Result<Arc<Vec<Webhook>>, StoreError> {
        if let Some(webhooks) = &self.webhooks {
            return Ok(Arc::clone(webhooks));
        }
        let webhooks = Arc::new(self.scan(&WEBHOOKS, webhooks_of(self.account.id).into())?);
        self.webhooks = Some(Arc::clone(&webhooks));
        Ok(webhooks)
    }

    /// Moves a job from the live to the ended jobs.
    fn end(&mut self, job: &Job, balances: Balances, end: JobEnd) {
        self.account.balances = balances;
        self.account_changed = true;
        self.put(DAILY_USAGE.put(&end.usage_key, &end.usage));
        self.usage.insert(end.usage_key, end.usage.clone());
        self.live_jobs = self.live_jobs.saturating_sub(1);
        let key = self.key(job.key);
        key.usage = Some((end.usage_key.day, end.usage));
        key.release(job.price);
        self.release_taken(job.id);
        self.forget_waiting_caller(job);
        self.put(LIVE_JOBS.delete(&(job.account, job.id)));
        self.put(ENDED_JOBS.put(&(job.account, job.id), job));
        self.owe(end.delivery);
    }

    fn count_in_batch(&mut self, step: Option<BatchStep>) {
        if let Some(step) = step {
            self.progress.insert(step.batch, step.progress);
            self.owe(step.delivery);
        }
    }

    fn owe(&mut self, delivery: Option<Delivery>) {
        if let Some(delivery) = delivery {
            self.put_all(delivery_writes(self.due_index(), &delivery));
            self.deliveries.push(delivery);
        }
    }

    /// `spent` includes this charge.
    fn charge(&mut self, job: &Job, spent: Spending, entry: TransactionId, now: Timestamp) {
        self.key(job.key).spent = Some(spent);
        self.put(API_KEY_SPENDING.put(&job.key, &spent));
        self.add_entry(LedgerEntry {
            id: entry,
            kind: EntryKind::Charge,
            amount: job.price.negated(),
            balance_after: self.account.balances.balance,
            job: Some(job.id),
            reference: None,
            created_at: now,
        });
    }

    /// Deposits or withdraws money.
    pub fn deposit(
        &mut self,
        id: TransactionId,
        deposit: &Deposit,
        now: Timestamp,
    ) -> Result<LedgerEntry, DepositError> {
        let call = IdempotentCall::Deposit;
        if let Some(first) = self.first_use(call, deposit.idempotency.as_ref(), now)? {
            let first = TransactionId(first.ok_or(DepositError::KeyReused)?);
            let entry = match self.entries.get(&first) {
                Some(entry) => Some(entry.clone()),
                None => self.read(&LEDGER, &(self.account.id, first))?,
            };
            let entry =
                entry.ok_or_else(|| self.inconsistent("a deposit's ledger entry is missing"));
            return Ok(entry?);
        }
        self.account.balances = self.account.balances.deposit(deposit.amount)?;
        let entry = LedgerEntry {
            id,
            kind: match deposit.amount.is_negative() {
                true => EntryKind::Adjustment,
                false => EntryKind::Deposit,
            },
            amount: deposit.amount,
            balance_after: self.account.balances.balance,
            job: None,
            reference: deposit.reference.clone(),
            created_at: now,
        };
        self.account_changed = true;
        self.add_entry(entry.clone());
        self.entries.insert(id, entry.clone());
        self.remember(call, deposit.idempotency.as_ref(), id.0, now);
        Ok(entry)
    }

    /// Changes the account's name, limits or activity. `None` if nothing changes.
    pub fn change(&mut self, change: AccountChange) -> Result<Option<AccountChanged>, StoreError> {
        let before = self.account.clone();
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
        self.account = after.clone();
        self.account_changed = true;
        Ok(Some(AccountChanged { before, after }))
    }

    /// Adds an audit entry for a decision of this round.
    pub fn record(&mut self, entry: &AuditEntry) {
        self.put(AUDIT_LOG.put(&entry.id, entry));
    }

    fn add_entry(&mut self, entry: LedgerEntry) {
        self.note_id(entry.id.0);
        self.put(LEDGER.put(&(self.account.id, entry.id), &entry));
    }

    /// # Errors
    /// The balances are inconsistent.
    pub fn finish(mut self) -> Result<RoundOutcome, StoreError> {
        if let Some(fault) = self.account.balances.fault() {
            return Err(self.inconsistent(fault));
        }
        if self.account_changed {
            self.put(ACCOUNTS.put(&self.account.id, &self.account));
        }
        let progress = std::mem::take(&mut self.progress);
        for (id, progress) in &progress {
            self.put(BATCH_PROGRESS.put(&(self.account.id, *id), progress));
        }
        if !self.writes.is_empty() {
            self.write_load();
        }
        Ok(RoundOutcome {
            writes: self.writes.into_iter().collect(),
            deliveries: self.deliveries,
            left_queue: self.left_queue,
            change: StateChange {
                account: self.account,
                live_jobs: self.live_jobs,
                keys: self.keys,
                progress,
            },
        })
    }

    fn or_inconsistent<T, E: Display>(&self, sum: Result<T, E>) -> Result<T, StoreError> {
        sum.map_err(|error| self.inconsistent(error))
    }

    fn inconsistent(&self, fault: impl Display) -> StoreError {
        StoreError::Inconsistent {
            account: self.account.id,
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
