//! The state that an account's actor, rounds and callers share.

use super::command::AccountCommand;
use super::context::AccountContext;
use super::inbox::Inbox;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::{AccountId, NodeId};
use tintype_storage::store::{AccountState, Limits, StateChange};

pub struct AccountSharedState {
    pub id: AccountId,
    pub context: Arc<AccountContext>,
    pub inbox: Inbox<AccountCommand>,
    pub source: StateSource,
}

/// Where a round finds the state of the account.
pub enum StateSource {
    /// In memory: only this process changes the account.
    Memory(Box<AccountMemory>),
    /// In the store, because other nodes than this one change the account too.
    Store(NodeId),
}

impl AccountSharedState {
    /// The state in memory; `None` if it is in the store.
    pub fn memory(&self) -> Option<&AccountMemory> {
        match &self.source {
            StateSource::Memory(memory) => Some(memory),
            StateSource::Store(_) => None,
        }
    }

    /// A joining node may not decide yet.
    pub fn is_joining(&self) -> bool {
        let node = self.context.process.node.as_ref();
        node.is_some_and(|it| !it.has_adopted())
    }
}

pub struct AccountMemory {
    /// The durable state. Rounds read and change it, one round at a time.
    pub state: Mutex<AccountState>,
    /// Live jobs, readable without the lock of the state.
    live: AtomicUsize,
    max_live: AtomicUsize,
}

impl AccountMemory {
    pub fn new(state: AccountState, limits: &Limits) -> Self {
        Self {
            live: AtomicUsize::new(state.live_jobs()),
            max_live: AtomicUsize::new(limits.max_live(&state.account().limits)),
            state: Mutex::new(state),
        }
    }

    pub fn live_jobs(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    pub fn max_live_jobs(&self) -> usize {
        self.max_live.load(Ordering::Relaxed)
    }

    /// Applies a durable round.
    pub fn apply(&self, change: StateChange, context: &AccountContext) {
        let mut state = self.state.lock();
        let before = state.live_jobs();
        state.apply(change);
        let now = state.live_jobs();
        let most = context.limits.max_live(&state.account().limits);
        drop(state);
        self.max_live.store(most, Ordering::Relaxed);
        self.live.store(now, Ordering::Relaxed);
        let all = &context.local_queue.live;
        if now >= before {
            all.fetch_add(now - before, Ordering::Relaxed);
        } else {
            all.fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}
