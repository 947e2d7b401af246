//! The state of an account that its actor caches between rounds.

use super::Decisions;
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
use crate::fast_hash::HashMap;
use crate::store::commands::Limits;
use crate::store::tables::LIVE_JOBS;
use crate::store::{RoundReads, Store, StoreError, Writes};
use std::sync::Arc;

/// One account's balances, its keys' live jobs and their spending.
#[derive(Clone, Debug)]
pub struct AccountState {
    pub(super) account: Account,
    pub(super) live_jobs: usize,
    pub(super) keys: HashMap<KeyId, KeyState>,
    /// The unfinished batches that decisions have read.
    pub(super) progress: HashMap<BatchId, BatchProgress>,
    /// `None` for a single process.
    pub(super) sharing: Option<Sharing>,
}

/// `None` means not read yet.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyState {
    pub held: Amount,
    pub live_jobs: usize,
    pub terms: Option<KeyTerms>,
    pub spent: Option<Spending>,
    /// The key's usage of the day of the last job's end. Days count from 1970-01-01.
    pub usage: Option<(i64, DailyUsage)>,
}

/// The additional state of a node.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    pub node: NodeId,
    /// The newest turns of the account's jobs, by tier.
    pub turns: [Turns; 3],
    pub newest: Option<Timestamp>,
    pub decided_by: Option<NodeId>,
}

/// A key with the hash of its text; `None` if the account has no such key.
pub(super) type KeyTerms = Option<Arc<(KeyHash, ApiKey)>>;

/// The outcome of a round.
pub struct RoundOutcome {
    /// One commit; empty if nothing changed.
    pub writes: Writes,
    /// Created deliveries.
    pub deliveries: Vec<Delivery>,
    /// Jobs that ended without a run; no node needs to take them.
    pub left_queue: Vec<(Tier, JobId)>,
    /// The state's change, to be applied when the writes are durable.
    pub change: StateChange,
}

/// The parts of a state after a round: the changed keys and batches, and the rest as a whole.
pub struct StateChange {
    pub(super) account: Account,
    pub(super) live_jobs: usize,
    pub(super) keys: HashMap<KeyId, KeyState>,
    pub(super) progress: HashMap<BatchId, BatchProgress>,
    pub(super) sharing: Option<Sharing>,
}

impl StateChange {
    pub(super) fn none(state: &AccountState) -> Self {
        Self {
            account: state.account.clone(),
            live_jobs: state.live_jobs,
            keys: HashMap::default(),
            progress: HashMap::default(),
            sharing: state.sharing.clone(),
        }
    }
}

impl AccountState {
    /// Reads the account's live jobs.
    ///
    /// # Errors
    /// The balances do not match the jobs: the store is corrupt, and further decisions would make it worse.
    pub async fn load(store: &Store, account: Account) -> Result<Self, StoreError> {
        let id = account.id;
        let mut state = Self::without_jobs(account);
        LIVE_JOBS
            .each(store, &id, |_, job| {
                state.count_live(&job);
                Ok(())
            })
            .await?;
        match state.fault() {
            Some(fault) => Err(StoreError::Inconsistent { account: id, fault }),
            None => Ok(state),
        }
    }

    /// Describes an inconsistency after all live jobs were counted.
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

    /// The state before the live jobs are counted.
    pub fn without_jobs(account: Account) -> Self {
        Self {
            account,
            live_jobs: 0,
            keys: HashMap::default(),
            progress: HashMap::default(),
            sharing: None,
        }
    }

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

    /// The reserved prices of one key's live jobs.
    pub fn reserved_of(&self, key: KeyId) -> Amount {
        self.keys.get(&key).map_or(Amount::ZERO, |it| it.held)
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Starts a round. The state stays unchanged until [`AccountState::apply`].
    pub fn decisions<'a>(&'a self, reads: &'a RoundReads<'a>, limits: Limits) -> Decisions<'a> {
        Decisions::new(self, reads, limits)
    }

    /// Applies a round's change when its writes are durable.
    pub fn apply(&mut self, change: StateChange) {
        self.account = change.account;
        self.live_jobs = change.live_jobs;
        self.keys.extend(change.keys);
        self.progress.extend(change.progress);
        self.progress.retain(|_, it| it.ended_at.is_none());
        self.sharing = change.sharing;
    }
}

impl KeyState {
    pub fn hold(&mut self, price: Amount) {
        self.live_jobs += 1;
        self.held = self.held.plus(price).unwrap_or(self.held);
    }

    pub fn release(&mut self, price: Amount) {
        self.live_jobs = self.live_jobs.saturating_sub(1);
        self.held = self.held.minus(price).unwrap_or(Amount::ZERO);
    }
}
