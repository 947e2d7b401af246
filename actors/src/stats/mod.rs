//! What the actors have done since the start, in plain counts. No decision depends on them.
//!
//! They count what is durable: a job counts as accepted or ended once its commit is. A commit gathers its counts first and adds them
//! at once, so accepting a job costs less than one addition.

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
    /// In the order of the configuration.
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
