//! What the actor of an account, its rounds and its callers share.

use super::command::AccountCommand;
use super::context::AccountContext;
use super::inbox::Inbox;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AccountState, StateChange};

pub struct AccountShared {
    pub id: AccountId,
    pub context: Arc<AccountContext>,
    pub inbox: Inbox<AccountCommand>,
    /// As it is durable. Rounds read and change it; they run one at a time.
    pub state: Mutex<AccountState>,
    /// This account's jobs that are not terminal, readable without the lock of the state.
    live: AtomicUsize,
    /// The most of them that there may be.
    max_live: AtomicUsize,
}

impl AccountShared {
    pub fn new(
        context: Arc<AccountContext>,
        inbox: Inbox<AccountCommand>,
        state: AccountState,
    ) -> Self {
        Self {
            live: AtomicUsize::new(state.live_jobs()),
            max_live: AtomicUsize::new(context.limits.max_live(&state.account().limits)),
            id: state.account().id,
            context,
            inbox,
            state: Mutex::new(state),
        }
    }

    /// Jobs of the account that are not terminal.
    pub fn live_jobs(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// The most jobs that may not be terminal.
    pub fn max_live_jobs(&self) -> usize {
        self.max_live.load(Ordering::Relaxed)
    }

    /// Applies what a round of a node has decided, once it is durable, to the state that it read. Other nodes decide too, so what
    /// is kept here is no more than a hint.
    pub fn apply_to(&self, read: AccountState, change: StateChange) {
        let mut state = self.state.lock();
        *state = read;
        state.apply(change);
    }

    /// Applies what a round has decided, once it is durable.
    pub fn apply(&self, change: StateChange) {
        let mut state = self.state.lock();
        let before = state.live_jobs();
        state.apply(change);
        let now = state.live_jobs();
        let most = self.context.limits.max_live(&state.account().limits);
        drop(state);
        self.max_live.store(most, Ordering::Relaxed);
        self.live.store(now, Ordering::Relaxed);
        let all = &self.context.live_jobs;
        if now >= before {
            all.fetch_add(now - before, Ordering::Relaxed);
        } else {
            all.fetch_sub(before - now, Ordering::Relaxed);
        }
    }
}
