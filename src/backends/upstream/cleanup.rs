//! Cleanups: work at a backend that stops a generation whose attempt was dropped.

use super::{Fault, Upstream};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// For the whole work, so that such tasks do not pile up at a server that hangs.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Begins a cleanup when it is dropped while armed.
pub struct CleanupGuard(Option<Box<dyn FnOnce() + Send>>);

impl CleanupGuard {
    /// Returns an armed guard. `begin` calls [`Upstream::clean_up`].
    pub fn new(begin: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(begin)))
    }

    /// Call it when the generation has ended.
    pub fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        if let Some(begin) = self.0.take() {
            begin();
        }
    }
}

impl Upstream {
    /// Runs `work` in the background, best effort: a failure is logged with `goal`, which completes "could not".
    pub fn clean_up(
        &self,
        goal: String,
        work: impl Future<Output = Result<(), Fault>> + Send + 'static,
    ) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let upstream = self.clone();
        let running = self.cleanups().subscribe();
        runtime.spawn(async move {
            let _running = running;
            if let Err(fault) = timeout(TIMEOUT, work).await.unwrap_or(Err(Fault::TimedOut)) {
                tracing::warn!(backend = upstream.name(), %fault, "could not {goal}");
            }
        });
    }

    /// Waits until no cleanup runs, at most as long as one may take.
    pub async fn cleanups_ended(&self) {
        let _ = timeout(TIMEOUT, self.cleanups().closed()).await;
    }
}
