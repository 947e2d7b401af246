//! An engine that fails at a chosen commit, or fails to read a chosen key, for tests of the reaction.

use super::layer::Layer;
use crate::engine::{Commit, Engine, EngineError, Holds, Key, OnFailure};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Forwards the first commits and fails from then on, like an engine with a broken disk.
pub struct FailingEngine {
    inner: Arc<dyn Engine>,
    holds: Arc<Holds>,
    commits_left: AtomicU64,
    failed: AtomicBool,
    on_failure: OnFailure,
    unreadable: Mutex<Option<Key>>,
    failed_reads: AtomicU64,
}

impl FailingEngine {
    /// Forwards `commits` commits before it fails.
    pub fn new(inner: Arc<dyn Engine>, commits: u64, on_failure: OnFailure) -> Self {
        Self {
            inner,
            holds: Arc::default(),
            commits_left: AtomicU64::new(commits),
            failed: AtomicBool::new(false),
            on_failure,
            unreadable: Mutex::default(),
            failed_reads: AtomicU64::new(0),
        }
    }

    /// Commits fail from now on.
    pub fn fail_commits(&self) {
        self.commits_left.store(0, Ordering::SeqCst);
    }

    /// Reads of this key fail from now on; `None`: no reads. Commits go on.
    pub fn fail_reads_of(&self, key: Option<Key>) {
        *self.unreadable.lock() = key;
    }

    /// How many reads have failed.
    pub fn failed_reads(&self) -> u64 {
        self.failed_reads.load(Ordering::SeqCst)
    }
}

impl Layer for FailingEngine {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner)
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn before_get(&self, key: &[u8]) -> Result<(), EngineError> {
        if self.unreadable.lock().as_deref() != Some(key) {
            return Ok(());
        }
        self.failed_reads.fetch_add(1, Ordering::SeqCst);
        Err(EngineError::Failed("a read failed (simulated)".into()))
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
}
