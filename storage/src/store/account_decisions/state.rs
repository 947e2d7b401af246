//! What the owner of an account keeps in memory between rounds.

use super::{Decisions, Known};
use crate::domain::account::Account;
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::batch::BatchProgress;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::delivery::Delivery;
use crate::domain::ids::{BatchId, JobId, KeyId, NodeId};
use crate::domain::job::Job;
use crate::domain::queue_entry::Turns;
use crate::domain::spending::Spending;
use crate::domain::tier::Tier;
use crate::domain::time::Timestamp;
use crate::store::commands::Limits;
use crate::store::{Store, StoreError, Writes};
use std::collections::HashMap;
use std::sync::Arc;

/// One account's money and what its keys hold and have spent.
#[derive(Clone, Debug)]
pub struct AccountState {
    pub(super) account: Account,
    pub(super) live_jobs: usize,
    pub(super) keys: HashMap<KeyId, KeyState>,
    /// Batches that have not ended, of those that decisions have met.
    pub(super) progress: HashMap<BatchId, BatchProgress>,
    /// `None` where this process is the only one on the store.
    pub(super) sharing: Option<Sharing>,
}

/// `None` stands for what has not been read yet.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyState {
    pub held: Amount,
    pub live_jobs: usize,
    pub terms: Option<KeyTerms>,
    pub spent: Option<Spending>,
    /// The key's usage of the day, counted from 1970-01-01, on which a job ended last.
    pub usage: Option<(i64, DailyUsage)>,
}

/// What a node knows beside what the only process knows.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    /// The node that decides.
    pub node: NodeId,
    /// The newest turns of the account's jobs, by tier.
    pub turns: [Turns; 3],
    pub newest: Option<Timestamp>,
    pub decided_by: Option<NodeId>,
}

/// A key with the hash of its text; `None` where the account has no such key.
pub(super) type KeyTerms = Option<Arc<(KeyHash, ApiKey)>>;

/// What a round has decided.
pub struct Decided {
    /// The writes of one commit; empty when nothing has changed.
    pub writes: Writes,
    /// The deliveries that the round has made.
    pub deliveries: Vec<Delivery>,
    /// The jobs that have ended without a run, which no node needs to take any more.
    pub left_queue: Vec<(Tier, JobId)>,
    /// What the state becomes once the writes are durable.
    pub change: StateChange,
}

/// A change of an [`AccountState`].
pub struct StateChange {
    pub(super) account: Account,
    pub(super) live_jobs: usize,
    pub(super) keys: HashMap<KeyId, KeyState>,
    pub(super) progress: HashMap<BatchId, BatchProgress>,
}

impl AccountState {
    /// Reads the account's live jobs.
    ///
    /// # Errors
    /// The balances do not fit the jobs: the store is damaged, and further decisions would make it worse.
    pub async fn load(store: &Store, account: Account) -> Result<Self, StoreError> {
        let id = account.id;
        let mut state = Self::without_jobs(account);
        store
            .each_live_job_of(id, |job| {
                state.count_live(&job);
                Ok(())
            })
            .await?;
        match state.fault() {
            Some(fault) => Err(StoreError::Inconsistent { account: id, fault }),
            None => Ok(state),
        }
    }

    /// What does not add up once all live jobs have been counted, if anything.
    pub fn fault(&self) -> Option<String> {
        let balances = &self.account.balances;
        let held = self
            .keys
            .values()
            .try_fold(Amount::ZERO, |sum, key| sum.plus(key.held));
        if held != Ok(balances.reserved) {
            let held = held.map_or_else(|error| error.to_string(), |held| held.to_string());
            return Some(format!(
                "reserved is {}, the holds of its live jobs are {held}",
                balances.reserved
            ));
        }
        balances.fault()
    }

    /// The state of an account whose live jobs will be counted one by one.
    pub fn without_jobs(account: Account) -> Self {
        Self {
            account,
            live_jobs: 0,
            keys: HashMap::new(),
            progress: HashMap::new(),
            sharing: None,
        }
    }

    /// Counts a live job of the store.
    pub fn count_live(&mut self, job: &Job) {
        self.live_jobs += 1;
        self.keys.entry(job.key).or_default().hold(job.price);
    }

    /// Jobs that are not terminal.
    pub fn live_jobs(&self) -> usize {
        self.live_jobs
    }

    /// Jobs of one key that are not terminal.
    pub fn live_jobs_of(&self, key: KeyId) -> usize {
        self.keys.get(&key).map_or(0, |it| it.live_jobs)
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Begins to decide on what is known. The state stays as it is until [`AccountState::apply`].
    pub fn decisions<'a>(&'a self, known: &'a dyn Known, limits: Limits) -> Decisions<'a> {
        Decisions::new(self, known, limits)
    }

    /// Applies what was decided, once it is durable.
    pub fn apply(&mut self, change: StateChange) {
        self.account = change.account;
        self.live_jobs = change.live_jobs;
        self.keys.extend(change.keys);
        self.progress.extend(change.progress);
        self.progress.retain(|_, it| it.ended_at.is_none());
    }
}

impl KeyState {
    /// One more live job.
    pub fn hold(&mut self, price: Amount) {
        self.live_jobs += 1;
        self.held = self.held.plus(price).unwrap_or(self.held);
    }

    /// One live job less.
    pub fn release(&mut self, price: Amount) {
        self.live_jobs = self.live_jobs.saturating_sub(1);
        self.held = self.held.minus(price).unwrap_or(Amount::ZERO);
    }
}
