//! An engine whose commits can be held back, as a slow disk holds them back.

use std::sync::{Arc, Mutex};
use tintype_storage::engine::memory::MemoryEngine;
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, Value,
};

/// Records in memory. While it is closed, commits wait.
#[derive(Default)]
pub struct Gate {
    inner: MemoryEngine,
    /// `None` while it is open.
    held: Mutex<Option<Vec<Commit>>>,
}

impl Gate {
    /// An open one.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Holds back all commits from now on.
    pub fn close(&self) {
        self.held.lock().unwrap().get_or_insert_default();
    }

    /// How many are held back.
    pub fn held(&self) -> usize {
        self.held.lock().unwrap().as_ref().map_or(0, Vec::len)
    }

    /// Writes what was held back, in its order, and holds nothing back any more.
    pub fn open(&self) {
        let held = self.held.lock().unwrap().take();
        for commit in held.into_iter().flatten() {
            self.inner.submit(commit);
        }
    }
}

impl Engine for Gate {
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
        if let Some(held) = self.held.lock().unwrap().as_mut() {
            return held.push(commit);
        }
        self.inner.submit(commit);
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn close(&self) {
        self.open();
        self.inner.close();
    }
}
