//! An engine whose answers can be held back.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, Value,
};

/// Passes commits on, or keeps them until they are let go, as a slow disk does.
pub struct GatedEngine {
    inner: Arc<dyn Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    closed: bool,
    held: VecDeque<Commit>,
    submitted: usize,
}

impl GatedEngine {
    pub fn new(inner: Arc<dyn Engine>) -> Self {
        Self {
            inner,
            state: Mutex::default(),
        }
    }

    /// Keeps the commits that come from now on.
    pub fn hold(&self) {
        self.state.lock().closed = true;
    }

    /// Lets the oldest held commit go.
    pub fn release_one(&self) {
        let commit = self.state.lock().held.pop_front();
        self.inner.submit(commit.expect("a held commit"));
    }

    /// Lets all go, those to come too.
    pub fn open(&self) {
        self.state.lock().closed = false;
        while let Some(commit) = self.take() {
            self.inner.submit(commit);
        }
    }

    fn take(&self) -> Option<Commit> {
        self.state.lock().held.pop_front()
    }

    /// Commits on their way.
    pub fn held(&self) -> usize {
        self.state.lock().held.len()
    }

    /// Commits ever submitted.
    pub fn submitted(&self) -> usize {
        self.state.lock().submitted
    }
}

impl Engine for GatedEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Value>, EngineError> {
        self.inner.get(key)
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, EngineError> {
        self.inner.scan(range, direction, limit)
    }

    fn submit(&self, commit: Commit) {
        let mut state = self.state.lock();
        state.submitted += 1;
        if state.closed {
            state.held.push_back(commit);
        } else {
            drop(state);
            self.inner.submit(commit);
        }
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn close(&self) {
        self.inner.close();
    }
}
