//! The decisions about one account's jobs and money, many at a time, each batch one commit.
//!
//! The owner of an [`AccountState`] decides alone for that account, and decides the next batch only when the commit of the
//! last one is on the disk: so the store always shows what the book builds on.

mod idempotency;
mod key_terms;

use super::commands::{
    AcceptError, Accepted, AccountChanged, Deposit, DepositError, EventError, Limits, NewJob,
};
use super::tables::{ACCOUNTS, API_KEY_SPENDING, DAILY_USAGE, ENDED_JOBS, LEDGER, LIVE_JOBS};
use super::{DailyUsageKey, IdempotencyRecord, IdempotentCall, Store, StoreError, Write, Writes};
use crate::domain::account::{Account, AccountChange};
use crate::domain::amount::Amount;
use crate::domain::audit_log::AuditEntry;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::delivery::{Delivery, DeliveryId, DeliveryKind, FailReason};
use crate::domain::ids::{JobId, KeyId, TransactionId};
use crate::domain::job::{Job, JobEvent, JobState, MoneyStep, Origin, transition};
use crate::domain::ledger::{EntryKind, LedgerEntry};
use crate::domain::pause::Pause;
use crate::domain::spending::{KeySpending, SpendLimits};
use crate::domain::time::Timestamp;
use crate::domain::webhook;
use crate::engine::{Key, Value};
use std::collections::HashMap;

/// Bytes after which a batch is full: enough for a few hundred jobs, and little beside what an engine takes at once.
const MAX_BYTES: usize = 256 * 1024;

/// One account's money and what its keys hold and have spent, in memory.
#[derive(Clone, Debug)]
pub struct AccountState {
    account: Account,
    live_jobs: usize,
    keys: HashMap<KeyId, KeyMoney>,
}

#[derive(Clone, Debug, Default)]
struct KeyMoney {
    held: Amount,
    terms: key_terms::Known,
    /// Read from the store when it is first asked for.
    spent: Option<KeySpending>,
}

impl AccountState {
    /// The book of an account, from what the store holds. Reads the account's live jobs, and refuses when they do not fit
    /// the books: then the store is damaged, and deciding on would make it worse.
    pub fn load(store: &Store, account: Account) -> Result<Self, StoreError> {
        let id = account.id;
        let mut book = Self::without_jobs(account);
        store.each_live_job_of(id, |job| {
            book.count_live(&job);
            Ok(())
        })?;
        match book.fault() {
            Some(fault) => Err(StoreError::Inconsistent { account: id, fault }),
            None => Ok(book),
        }
    }

    /// What does not add up once all live jobs have been counted, if anything.
    pub fn fault(&self) -> Option<String> {
        let books = &self.account.balances;
        let held = self
            .keys
            .values()
            .try_fold(Amount::ZERO, |sum, key| sum.plus(key.held));
        if held != Ok(books.reserved) {
            let held = held.map_or_else(|error| error.to_string(), |held| held.to_string());
            return Some(format!(
                "reserved is {}, the holds of its live jobs are {held}",
                books.reserved
            ));
        }
        books.fault()
    }

    /// The book of an account whose live jobs will be counted one by one.
    pub fn without_jobs(account: Account) -> Self {
        Self {
            account,
            live_jobs: 0,
            keys: HashMap::new(),
        }
    }

    /// Takes a live job of the store into account.
    pub fn count_live(&mut self, job: &Job) {
        self.live_jobs += 1;
        let held = &mut self.keys.entry(job.key).or_default().held;
        *held = held.plus(job.price).unwrap_or(*held);
    }

    /// Jobs that are not terminal.
    pub fn live_jobs(&self) -> usize {
        self.live_jobs
    }

    /// The account.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Begins to decide.
    pub fn batch<'a>(&'a mut self, store: &'a Store, limits: Limits) -> Batch<'a> {
        Batch {
            book: self,
            store,
            limits,
            pause: None,
            writes: HashMap::new(),
            bytes: 0,
            jobs: HashMap::new(),
            entries: HashMap::new(),
            used: HashMap::new(),
            account_changed: false,
            deliveries: Vec::new(),
        }
    }

    fn spent(&mut self, store: &Store, key: KeyId) -> Result<KeySpending, StoreError> {
        let money = self.keys.entry(key).or_default();
        match money.spent {
            Some(spent) => Ok(spent),
            None => {
                let spent = store.key_spending(key)?;
                money.spent = Some(spent);
                Ok(spent)
            }
        }
    }
}

/// Decisions that will be one commit.
pub struct Batch<'a> {
    book: &'a mut AccountState,
    store: &'a Store,
    limits: Limits,
    pause: Option<&'a Pause>,
    writes: HashMap<Key, Option<Value>>,
    bytes: usize,
    /// Jobs that this batch has touched, as they will be.
    jobs: HashMap<JobId, Job>,
    /// Deposits that this batch has made.
    entries: HashMap<TransactionId, LedgerEntry>,
    /// Idempotency keys that this batch has used.
    used: HashMap<(IdempotentCall, String), IdempotencyRecord>,
    account_changed: bool,
    deliveries: Vec<Delivery>,
}

impl<'a> Batch<'a> {
    /// Has the batch refuse jobs that these switches pause.
    pub fn under(self, pause: &'a Pause) -> Self {
        Self {
            pause: Some(pause),
            ..self
        }
    }
}

impl Batch<'_> {
    /// Whose decisions these are, as the account will be with them.
    pub fn account(&self) -> &Account {
        &self.book.account
    }

    fn put(&mut self, (key, value): Write) {
        self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.writes.insert(key, value);
    }

    /// Is there as much in this batch as one commit should hold? What comes later waits for the next one, so that no commit
    /// keeps those of other accounts waiting for long.
    pub fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    /// Accepts a job under `id` at `now`, or says why not.
    pub fn accept(
        &mut self,
        id: JobId,
        new: NewJob,
        now: Timestamp,
    ) -> Result<Accepted, AcceptError> {
        let spend_limits = self.judge_key(&new, now)?;
        if let Some(first) =
            self.first_use(IdempotentCall::Generation, new.idempotency.as_ref(), now)?
        {
            let job = first.ok_or(AcceptError::KeyReused)?;
            return Ok(Accepted {
                job: JobId(job),
                replayed: true,
            });
        }
        if let Some(pause) = self.pause {
            pause.admit(new.tier)?;
        }
        self.judge_rate(&new)?;
        if self.book.live_jobs >= self.limits.max_live_per_account {
            return Err(AcceptError::TooManyLive(self.book.live_jobs));
        }
        let books = self.book.account.balances.hold(new.price)?;
        self.check_key_limits(&new, spend_limits, now)?;
        let job = Job {
            id,
            account: self.book.account.id,
            key: new.key,
            tier: new.tier,
            mode: new.mode,
            aspect: new.aspect,
            ratio: new.ratio,
            resolution: new.resolution,
            brief: new.brief,
            callback: new.callback,
            origin: new.origin,
            inputs: new.inputs,
            price: new.price,
            created_at: now,
            state: JobState::Queued,
        };
        self.book.account.balances = books;
        self.account_changed = true;
        self.book.count_live(&job);
        self.put(LIVE_JOBS.put(&(job.account, id), &job));
        self.remember(IdempotentCall::Generation, new.idempotency, id.0, now);
        self.jobs.insert(id, job);
        Ok(Accepted {
            job: id,
            replayed: false,
        })
    }

    fn known_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        match self.jobs.get(&id) {
            Some(job) => Ok(Some(job.clone())),
            None => self.store.job(self.book.account.id, id),
        }
    }

    fn check_key_limits(
        &mut self,
        new: &NewJob,
        limits: SpendLimits,
        now: Timestamp,
    ) -> Result<(), AcceptError> {
        if !limits.any() {
            return Ok(());
        }
        let spent = self.book.spent(self.store, new.key)?;
        let held = self
            .book
            .keys
            .get(&new.key)
            .map(|money| money.held)
            .unwrap_or_default();
        Ok(limits.check(&spent, held, new.price, now)?)
    }

    /// Applies an event to a job: its state, its money and its ledger line in this one batch.
    pub fn apply(
        &mut self,
        id: JobId,
        event: JobEvent,
        entry: TransactionId,
        now: Timestamp,
    ) -> Result<Job, EventError> {
        let account = self.book.account.id;
        let job = self.known_job(id)?.ok_or(EventError::NotFound)?;
        let step = transition(&job, event, now)?;
        let books = self.book.account.balances;
        // All that can fail comes first: an error leaves the batch as it was, fit to be committed.
        match step.money {
            MoneyStep::Keep => {
                self.put(LIVE_JOBS.put(&(account, id), &step.job));
            }
            MoneyStep::Settle => {
                let books = books
                    .settle(job.price)
                    .map_err(|error| self.broken(error.to_string()))?;
                // On the day of its end, as its tally has it: that is never before the day on which it was accepted, whatever
                // the clock says now, and what was held then did not count for any day before.
                let ended = step.job.state.finished_at().unwrap_or(now);
                let spent = self
                    .book
                    .spent(self.store, job.key)?
                    .charge(job.price, ended)
                    .map_err(|error| self.broken(error.to_string()))?;
                let counted = self.counted(&step.job, now)?;
                self.owe_delivery(&step.job, now)?;
                self.book.account.balances = books;
                self.end(&step.job, counted);
                self.charge(&step.job, spent, entry, now);
            }
            MoneyStep::Release => {
                let books = books
                    .release(job.price)
                    .map_err(|error| self.broken(error.to_string()))?;
                let counted = self.counted(&step.job, now)?;
                self.owe_delivery(&step.job, now)?;
                self.book.account.balances = books;
                self.end(&step.job, counted);
            }
        }
        self.jobs.insert(id, step.job.clone());
        Ok(step.job)
    }

    /// The delivery that the end of a job owes: chosen now, in the commit that ends it. Its id is the job's, for a job has
    /// one event at the most.
    fn owe_delivery(&mut self, job: &Job, now: Timestamp) -> Result<(), StoreError> {
        if job.origin == Origin::Synchronous {
            return Ok(());
        }
        let webhooks = self.store.webhooks(job.account)?;
        let url = job.callback.as_ref().map(|callback| callback.url.as_str());
        let id = DeliveryId(job.id.0);
        let mut delivery = match (webhook::choose(&webhooks, url), &job.callback) {
            (Some(webhook), _) => Delivery::new(id, webhook, DeliveryKind::Event, job.id, now),
            (None, Some(callback)) => {
                let moved = webhooks.iter().any(|it| it.id == callback.webhook);
                let reason = if moved {
                    FailReason::WebhookMoved
                } else {
                    FailReason::WebhookDeleted
                };
                Delivery::to_nobody(id, job.account, callback, job.id, now, reason)
            }
            (None, None) => return Ok(()),
        };
        // Of the same moment as the end, which under a clock that was set back may be one to come: so it is never forgotten
        // as one from before its job ended.
        delivery.created_at = job.state.finished_at().unwrap_or(now);
        for write in self.store.add_delivery(&delivery) {
            self.put(write);
        }
        self.deliveries.push(delivery);
        Ok(())
    }

    /// The deliveries that this batch has made.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// The tally of the day on which a job has ended, with this job.
    fn counted(
        &mut self,
        job: &Job,
        now: Timestamp,
    ) -> Result<(DailyUsageKey, DailyUsage), StoreError> {
        let ended = job.state.finished_at().unwrap_or(now);
        let place = DailyUsageKey::of(job, ended.day());
        let tally: DailyUsage = match self.writes.get(&DAILY_USAGE.key(&place)) {
            Some(Some(counted)) => DAILY_USAGE.decode(counted)?,
            _ => self.store.daily_usage(place)?,
        };
        let tally = tally.with(job);
        Ok((
            place,
            tally.map_err(|error| self.broken(error.to_string()))?,
        ))
    }

    /// Moves a job from the live ones to the ended ones.
    fn end(&mut self, job: &Job, (place, tally): (DailyUsageKey, DailyUsage)) {
        self.put(DAILY_USAGE.put(&place, &tally));
        self.account_changed = true;
        self.book.live_jobs = self.book.live_jobs.saturating_sub(1);
        let held = &mut self.book.keys.entry(job.key).or_default().held;
        *held = held.minus(job.price).unwrap_or(Amount::ZERO);
        self.put(LIVE_JOBS.delete(&(job.account, job.id)));
        self.put(ENDED_JOBS.put(&(job.account, job.id), job));
    }

    /// `spent` is what the job's key has spent with this charge.
    fn charge(&mut self, job: &Job, spent: KeySpending, entry: TransactionId, now: Timestamp) {
        self.book.keys.entry(job.key).or_default().spent = Some(spent);
        self.put(API_KEY_SPENDING.put(&job.key, &spent));
        self.add_entry(LedgerEntry {
            id: entry,
            kind: EntryKind::Charge,
            amount: job.price.negated(),
            balance_after: self.book.account.balances.balance,
            job: Some(job.id),
            reference: None,
            created_at: now,
        });
    }

    /// Adds money, or takes some back.
    pub fn deposit(
        &mut self,
        id: TransactionId,
        deposit: Deposit,
        now: Timestamp,
    ) -> Result<LedgerEntry, DepositError> {
        if let Some(first) =
            self.first_use(IdempotentCall::Deposit, deposit.idempotency.as_ref(), now)?
        {
            let first = TransactionId(first.ok_or(DepositError::KeyReused)?);
            let entry = match self.entries.get(&first) {
                Some(entry) => Some(entry.clone()),
                None => self.store.ledger_entry(self.book.account.id, first)?,
            };
            return Ok(
                entry.ok_or_else(|| self.broken("a deposit's ledger entry is missing".into()))?
            );
        }
        self.book.account.balances = self.book.account.balances.deposit(deposit.amount)?;
        let entry = LedgerEntry {
            id,
            kind: if deposit.amount.is_negative() {
                EntryKind::Adjustment
            } else {
                EntryKind::Deposit
            },
            amount: deposit.amount,
            balance_after: self.book.account.balances.balance,
            job: None,
            reference: deposit.reference,
            created_at: now,
        };
        self.account_changed = true;
        self.add_entry(entry.clone());
        self.entries.insert(id, entry.clone());
        self.remember(IdempotentCall::Deposit, deposit.idempotency, id.0, now);
        Ok(entry)
    }

    /// Changes what the account is called, or whether it is switched on. `None` where it is so already.
    pub fn change(&mut self, change: AccountChange) -> Option<AccountChanged> {
        let before = self.book.account.clone();
        let after = change.apply(before.clone());
        if after == before {
            return None;
        }
        self.book.account = after.clone();
        self.account_changed = true;
        Some(AccountChanged { before, after })
    }

    /// Adds a line of the audit log, for what this batch has decided.
    pub fn record(&mut self, entry: &AuditEntry) {
        self.put(self.store.add_audit(entry));
    }

    fn add_entry(&mut self, entry: LedgerEntry) {
        self.put(LEDGER.put(&(self.book.account.id, entry.id), &entry));
    }

    /// All that was decided, as the writes of one commit; empty when nothing has changed.
    pub fn into_writes(mut self) -> Result<Writes, StoreError> {
        if let Some(fault) = self.book.account.balances.fault() {
            return Err(self.broken(fault));
        }
        if self.account_changed {
            self.put(ACCOUNTS.put(&self.book.account.id, &self.book.account));
        }
        Ok(self.writes.into_iter().collect())
    }

    fn broken(&self, fault: String) -> StoreError {
        StoreError::Inconsistent {
            account: self.book.account.id,
            fault,
        }
    }
}
