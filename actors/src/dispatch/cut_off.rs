//! The signal that ends all runs at the end of an orderly stop's grace period.

use tokio::sync::{Notify, watch};

/// Given once. Runs that hear it end without a picture, and their jobs run again after the restart.
pub struct CutOff {
    given: watch::Sender<bool>,
    /// Wakes runs in the order in which they wait. Those who wait for the channel wake in any order, and a simulated story could
    /// not be repeated.
    wake: Notify,
}

impl Default for CutOff {
    fn default() -> Self {
        Self {
            given: watch::Sender::new(false),
            wake: Notify::new(),
        }
    }
}

impl CutOff {
    pub fn give(&self) {
        self.given.send_replace(true);
        self.wake.notify_waiters();
    }

    /// For generators.
    pub fn receiver(&self) -> watch::Receiver<bool> {
        self.given.subscribe()
    }

    /// Returns once the signal is given.
    pub async fn given(&self) {
        // Registered before the check, so that a signal in between is not missed.
        let woken = self.wake.notified();
        if !*self.given.borrow() {
            woken.await;
        }
    }
}
