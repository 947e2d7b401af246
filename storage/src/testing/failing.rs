//! An engine that fails at a chosen commit, for tests of the reaction.

use super::layer::Layer;
use crate::engine::{Commit, Engine, EngineError, Holds, OnFailure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Forwards the first commits and fails from then on, like an engine with a broken disk.
pub struct FailingEngine {
    inner: Arc<dyn Engine>,
    holds: Arc<Holds>,
    commits_left: AtomicU64,
    failed: AtomicBool,
    on_failure: OnFailure,
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
        }
    }
}

impl Layer for FailingEngine {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner)
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
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
