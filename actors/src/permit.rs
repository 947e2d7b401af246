//! A place on a back end, as a run holds it.

use crate::breaker::Pass;
use crate::dispatcher::{Dispatcher, PermitFreed};
use actix::Addr;
use tokio::sync::OwnedSemaphorePermit;

/// A place on a back end. Dropping it gives the place back and tells the dispatcher.
pub struct Permit {
    held: Option<OwnedSemaphorePermit>,
    dispatcher: Addr<Dispatcher>,
}

impl Permit {
    /// The place that was found.
    pub fn new(held: OwnedSemaphorePermit, dispatcher: Addr<Dispatcher>) -> Self {
        Self {
            held: Some(held),
            dispatcher,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        drop(self.held.take());
        self.dispatcher.do_send(PermitFreed);
    }
}

/// What a run needs to ask a back end for a picture.
pub struct Granted {
    /// Which of the tier's routes.
    pub route: usize,
    /// The leave of the back end's breaker.
    pub pass: Pass,
    /// The place there. Given back last, so that the dispatcher finds the breaker as the run has left it.
    pub permit: Permit,
}
