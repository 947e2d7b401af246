//! An engine around another one that fails at a chosen commit. For tests of what the rest does then.

use crate::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, OnFailure, Snapshot,
    SnapshotError, Value,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Passes the first commits on and fails from then on, as an engine whose disk broke does.
pub struct FailingEngine {
    inner: Arc<dyn Engine>,
    commits_left: AtomicU64,
    failed: AtomicBool,
    on_failure: OnFailure,
}

impl FailingEngine {
    /// Lets `commits` commits through.
    pub fn new(inner: Arc<dyn Engine>, commits: u64, on_failure: OnFailure) -> Self {
        Self {
            inner,
            commits_left: AtomicU64::new(commits),
            failed: AtomicBool::new(false),
            on_failure,
        }
    }
}

impl Engine for FailingEngine {
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
        let take = |left: u64| left.checked_sub(1);
        if self
            .commits_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_ok()
        {
            return self.inner.submit(commit);
        }
        let error = EngineError::Failed("no space left on device (simulated)".into());
        if !self.failed.swap(true, Ordering::SeqCst) {
            (self.on_failure)(&error);
        }
        (commit.done)(Err(error));
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        Arc::clone(&self.inner).snapshot()
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn close(&self) {
        self.inner.close();
    }
}
