//! A run's lease on a backend.

use super::breaker::BreakerPass;
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// A slot of a backend and the pass of its breaker. Dropping the lease releases the slot and wakes the dispatcher.
pub struct BackendLease {
    /// The index into the tier's routes.
    pub route: usize,
    pub pass: BreakerPass,
    /// Dropped after the pass, so that the dispatcher sees the breaker's new state.
    _slot: Slot,
}

impl BackendLease {
    pub fn new(
        route: usize,
        pass: BreakerPass,
        permit: OwnedSemaphorePermit,
        freed: Arc<Notify>,
    ) -> Self {
        let permit = Some(permit);
        Self {
            route,
            pass,
            _slot: Slot { permit, freed },
        }
    }
}

struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    freed: Arc<Notify>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.freed.notify_one();
    }
}
