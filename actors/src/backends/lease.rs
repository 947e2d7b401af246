//! A run's lease on a backend.

use super::breaker::{BreakerEvent, BreakerPass};
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::Instant;

/// A slot of a backend and the pass of its breaker. Dropping the lease releases the slot and wakes the dispatcher.
pub struct BackendLease {
    /// The index into the tier's routes.
    pub route: usize,
    pass: BreakerPass,
    /// Dropped after the pass, so that the dispatcher sees the breaker's new state.
    slot: Slot,
}

impl BackendLease {
    pub fn new(
        route: usize,
        pass: BreakerPass,
        permit: OwnedSemaphorePermit,
        wake: Arc<Notify>,
    ) -> Self {
        let permit = Some(permit);
        Self {
            route,
            pass,
            slot: Slot { permit, wake },
        }
    }

    /// Records the outcome of an attempt. Wakes the dispatcher if the breaker opens or closes: the run may keep its slot for minutes, and
    /// meanwhile the dispatcher must set its timer for the next probe, or start other runs.
    pub fn record(&mut self, event: BreakerEvent, at: Instant) {
        if self.pass.record(event, at) {
            self.slot.wake.notify_one();
        }
    }
}

struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    wake: Arc<Notify>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.wake.notify_one();
    }
}
