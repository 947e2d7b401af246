//! What the service counts, as `GET /metrics` tells it to Prometheus.
//!
//! Storage and actors count in plain atomics of their own and know nothing of this; what is here reads them when it is asked.

mod backends;
mod exposition;
mod jobs;
mod ledger;
mod page;
mod process;
mod requests;
mod store;
mod traces;
mod webhooks;

pub use page::{configure, show};
pub use requests::{Clerk, Requests};

use ledger::LedgerTotals;
use std::time::SystemTime;

/// What is kept for it besides what others count.
pub struct Metrics {
    /// The calls of all workers.
    pub requests: Requests,
    ledger: LedgerTotals,
    started: SystemTime,
}

impl Metrics {
    /// Nothing has been counted since the service began to start.
    pub fn since(started: SystemTime) -> Self {
        Self {
            requests: Requests::default(),
            ledger: LedgerTotals::default(),
            started,
        }
    }
}
