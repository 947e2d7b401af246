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

    /// Reports a failure if the thread panics while the returned value exists. For state that a panic leaves unreliable.
    pub fn at_panic(&self, reason: &'static str) -> TripsAtPanic<'_> {
        TripsAtPanic { stop: self, reason }
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

/// See [`FailStop::at_panic`].
pub struct TripsAtPanic<'a> {
    stop: &'a FailStop,
    reason: &'static str,
}

impl Drop for TripsAtPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop.trip(self.reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_beside_unreliable_state_is_a_failure() {
        let stop = FailStop::new();
        drop(stop.at_panic("a bug"));
        assert!(!stop.has_tripped());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _stops = stop.at_panic("a bug");
            panic!("test");
        }));
        assert!(panicked.is_err() && stop.has_tripped());
    }

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
