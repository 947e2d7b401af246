//! Counters of the actors' work since the start. No decision depends on them.
//!
//! They count durable changes: a job counts as accepted or ended once its commit is durable. A commit collects its counts and adds them
//! together, so accepting a job costs less than one atomic addition.

mod backends;
mod deliveries;
mod jobs;
mod nodes;
mod recent_tries;
mod sliding_window;

pub use backends::BackendStats;
pub use deliveries::{ANSWERS, DeliveryStats};
pub(crate) use jobs::DecidedCounts;
pub use jobs::JobStats;
pub use nodes::NodeStats;
pub use recent_tries::{RecentFigures, RecentTries};
pub use sliding_window::{SlidingWindow, WINDOW, WindowCounts};

use tintype_storage::domain::time::Timestamp;

pub struct Stats {
    pub jobs: JobStats,
    /// In configuration order.
    pub backends: Vec<BackendStats>,
    pub deliveries: DeliveryStats,
    pub nodes: NodeStats,
}

impl Stats {
    pub fn new(backends: usize, now: Timestamp) -> Self {
        Self {
            jobs: JobStats::since(now),
            backends: (0..backends).map(|_| BackendStats::default()).collect(),
            deliveries: DeliveryStats::default(),
            nodes: NodeStats::default(),
        }
    }
}
