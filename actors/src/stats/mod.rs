//! Counters of the actors' work since the start. No decision depends on them.
//!
//! They count durable changes: a job counts as accepted or ended once its commit is durable. A commit collects its counts and adds them
//! together, so accepting a job costs less than one atomic addition.

mod deliveries;
mod jobs;
mod recent_attempts;
mod sliding_window;

pub use deliveries::{DeliveryStats, RESPONSE_CLASSES};
pub(crate) use jobs::DecidedCounts;
pub use jobs::JobStats;
pub use recent_attempts::{RecentAttempts, RecentFigures};
pub use sliding_window::{SlidingWindow, WINDOW, WindowCounts};

use crate::ports::BackendAttemptOutcome;
use std::sync::atomic::AtomicU64;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::histogram::{Histogram, LONG_DURATIONS};

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

/// Counters of one backend.
pub struct BackendStats {
    /// The duration of each attempt in microseconds, in the order of [`BackendAttemptOutcome::ALL`].
    pub attempts: [Histogram; BackendAttemptOutcome::ALL.len()],
    pub recent: RecentAttempts,
    /// Repeated attempts.
    pub retries: AtomicU64,
    /// Images that the backend got wrong: damaged ones, and those of a format or a size that is not accepted.
    pub invalid_images: AtomicU64,
    /// Runs that gave up on the backend, including those without another backend to try.
    pub given_up: AtomicU64,
}

impl Default for BackendStats {
    fn default() -> Self {
        Self {
            attempts: std::array::from_fn(|_| Histogram::new(LONG_DURATIONS)),
            recent: RecentAttempts::default(),
            retries: AtomicU64::new(0),
            invalid_images: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }
}

/// Counters of this process as one of several nodes.
#[derive(Default)]
pub struct NodeStats {
    /// Nodes that this one has declared dead.
    pub takeovers: AtomicU64,
    /// Jobs of dead nodes that this node has put back into their queues.
    pub jobs_put_back: AtomicU64,
    /// Rounds that took jobs from the shared queue.
    pub takes: AtomicU64,
    pub jobs_taken: AtomicU64,
}
