//! Stops the process after an unrecoverable failure.
//!
//! A storage error is never retried: the process refuses every further call and ends, and the restart recovers from the durable state.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_storage::engine::EngineError;
use tintype_storage::store::Store;
use tokio::sync::Notify;

/// Remembers the first failure, and wakes the tasks that wait for one. Clones share it.
#[derive(Clone, Default)]
pub struct FailStop {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    tripped: AtomicBool,
    is_closing: AtomicBool,
    reason: Mutex<Option<String>>,
    notify: Notify,
}

impl FailStop {
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports a failure, from any thread. Only the first one counts.
    pub fn trip(&self, reason: impl Into<String>) {
        let mut first = self.inner.reason.lock();
        if first.is_some() {
            return;
        }
        let reason = reason.into();
        tracing::error!(%reason, "stopping after a failure");
        *first = Some(reason);
        self.inner.tripped.store(true, Ordering::SeqCst);
        self.inner.notify.notify_waiters();
    }

    /// Returns the same store, which reports failed commits here.
    pub fn watch(&self, store: Store) -> Store {
        let stop = self.clone();
        store.failing_to(Arc::new(move |error| {
            let is_closing = stop.inner.is_closing.load(Ordering::SeqCst);
            if !(is_closing && matches!(error, EngineError::Stopped)) {
                stop.trip(error.to_string());
            }
        }))
    }

    /// From now on the engine may refuse commits because it is closed: a background task may commit until the process exits. Every
    /// other error remains a failure.
    pub fn begin_close(&self) {
        self.inner.is_closing.store(true, Ordering::SeqCst);
    }

    pub fn has_tripped(&self) -> bool {
        self.inner.tripped.load(Ordering::Relaxed)
    }

    /// Waits for a failure and returns its reason.
    pub async fn tripped(&self) -> String {
        loop {
            // Registered before the check, so that a failure in between is not missed.
            let notified = self.inner.notify.notified();
            if let Some(reason) = self.inner.reason.lock().clone() {
                return reason;
            }
            notified.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_failure_reason_is_not_overwritten() {
        let stop = FailStop::new();
        assert!(!stop.has_tripped());
        let waiting = tokio::spawn({
            let stop = stop.clone();
            async move { stop.tripped().await }
        });
        stop.trip("first");
        stop.trip("second");
        assert_eq!(waiting.await.unwrap(), "first");
        assert_eq!(stop.tripped().await, "first");
    }
}
