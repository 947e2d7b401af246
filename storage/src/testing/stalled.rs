//! An engine around another one that holds commits back, as a slow disk does. For tests of what happens meanwhile.

use super::memory::MemoryEngine;
use crate::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, Snapshot, SnapshotError,
    Value,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Passes commits on, or keeps them until they are let go.
pub struct StalledEngine {
    inner: Arc<dyn Engine>,
    gate: Mutex<Gate>,
}

#[derive(Default)]
struct Gate {
    is_shut: bool,
    held: VecDeque<Commit>,
    submitted: usize,
}

impl StalledEngine {
    /// One that is open.
    pub fn new(inner: Arc<dyn Engine>) -> Self {
        Self {
            inner,
            gate: Mutex::default(),
        }
    }

    /// The same around records in memory.
    pub fn in_memory() -> Arc<Self> {
        Arc::new(Self::new(Arc::new(MemoryEngine::default())))
    }

    /// What is behind it, where nothing is held back.
    pub fn inner(&self) -> &dyn Engine {
        &*self.inner
    }

    /// Keeps the commits that come from now on.
    pub fn hold(&self) {
        self.gate.lock().is_shut = true;
    }

    /// Lets the oldest held commit go.
    ///
    /// # Panics
    /// When none is held.
    pub fn release_one(&self) {
        let commit = self.next();
        self.inner.submit(commit.expect("a commit is held"));
    }

    /// Lets all go, in their order, and those to come; says how many were held.
    pub fn open(&self) -> usize {
        self.gate.lock().is_shut = false;
        let held = std::iter::from_fn(|| self.next());
        held.map(|commit| self.inner.submit(commit)).count()
    }

    fn next(&self) -> Option<Commit> {
        self.gate.lock().held.pop_front()
    }

    /// Commits that are held.
    pub fn held(&self) -> usize {
        self.gate.lock().held.len()
    }

    /// Commits that have ever come.
    pub fn submitted(&self) -> usize {
        self.gate.lock().submitted
    }
}

impl Engine for StalledEngine {
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
        let mut gate = self.gate.lock();
        gate.submitted += 1;
        if gate.is_shut {
            return gate.held.push_back(commit);
        }
        drop(gate);
        self.inner.submit(commit);
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        Arc::clone(&self.inner).snapshot()
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn close(&self) {
        self.open();
        self.inner.close();
    }
}
