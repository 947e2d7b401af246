//! The signal that interrupts all runs when the grace period of an orderly stop ends.

use tokio::sync::{Notify, watch};

/// Triggered once. Interrupted runs end without an image, and their jobs run again after the restart.
pub struct CutOff {
    triggered: watch::Sender<bool>,
    /// Wakes runs in the order in which they wait. A `watch` channel wakes them in any order, which would make simulations
    /// unrepeatable.
    wake: Notify,
}

impl Default for CutOff {
    fn default() -> Self {
        Self {
            triggered: watch::Sender::new(false),
            wake: Notify::new(),
        }
    }
}

impl CutOff {
    pub fn trigger(&self) {
        self.triggered.send_replace(true);
        self.wake.notify_waiters();
    }

    /// For generators.
    pub fn receiver(&self) -> watch::Receiver<bool> {
        self.triggered.subscribe()
    }

    pub fn is_triggered(&self) -> bool {
        *self.triggered.borrow()
    }

    /// Waits for the signal.
    pub async fn triggered(&self) {
        // Registered before the check, so that a signal in between is not missed.
        let woken = self.wake.notified();
        if !self.is_triggered() {
            woken.await;
        }
    }
}
