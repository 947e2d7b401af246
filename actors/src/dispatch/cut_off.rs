//! The signals of an orderly stop to the runs: that it has begun, and that its grace period has ended.

use tokio::sync::{Notify, watch};

/// Interrupted runs end without an image, and their jobs run again after the restart.
#[derive(Default)]
pub struct CutOff {
    /// Interrupts the runs that wait for the end of a pause: they have nothing to finish in the grace period.
    stopping: Signal,
    /// Interrupts all runs.
    triggered: Signal,
}

impl CutOff {
    pub fn begin_to_stop(&self) {
        self.stopping.set();
    }

    pub fn trigger(&self) {
        self.triggered.set();
    }

    /// For generators.
    pub fn receiver(&self) -> watch::Receiver<bool> {
        self.triggered.is_set.subscribe()
    }

    pub fn is_triggered(&self) -> bool {
        self.triggered.is_set()
    }

    /// Waits until the orderly stop begins.
    pub async fn stopping(&self) {
        self.stopping.until_set().await;
    }

    /// Waits until the grace period has ended.
    pub async fn triggered(&self) {
        self.triggered.until_set().await;
    }
}

/// Set once.
struct Signal {
    is_set: watch::Sender<bool>,
    /// Wakes runs in the order in which they wait. A `watch` channel wakes them in any order, which would make simulations
    /// unrepeatable.
    wake: Notify,
}

impl Default for Signal {
    fn default() -> Self {
        Self {
            is_set: watch::Sender::new(false),
            wake: Notify::new(),
        }
    }
}

impl Signal {
    fn set(&self) {
        self.is_set.send_replace(true);
        self.wake.notify_waiters();
    }

    fn is_set(&self) -> bool {
        *self.is_set.borrow()
    }

    async fn until_set(&self) {
        // Registered before the check, so that a signal in between is not missed.
        let woken = self.wake.notified();
        if !self.is_set() {
            woken.await;
        }
    }
}
