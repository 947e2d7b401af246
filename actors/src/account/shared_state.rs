//! The state that an account's actor, rounds and callers share.

use super::command::AccountCommand;
use super::context::AccountContext;
use super::inbox::Inbox;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{AccountState, StateChange};

pub struct AccountSharedState {
    pub id: AccountId,
    pub context: Arc<AccountContext>,
    pub inbox: Inbox<AccountCommand>,
    /// The durable state. Rounds read and change it, one round at a time.
    pub state: Mutex<AccountState>,
    /// Live jobs, readable without the lock of the state.
    live: AtomicUsize,
    max_live: AtomicUsize,
}

impl AccountSharedState {
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

    pub fn live_jobs(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    pub fn max_live_jobs(&self) -> usize {
        self.max_live.load(Ordering::Relaxed)
    }

    /// Applies a durable round of one of several nodes to the state that the round read. Other nodes decide too, so the result is only
    /// a hint.
    pub fn apply_to(&self, read: AccountState, change: StateChange) {
        let mut state = self.state.lock();
        *state = read;
        state.apply(change);
    }

    /// Applies a durable round.
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
