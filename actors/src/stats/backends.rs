//! Counts of one backend.

use super::recent_tries::RecentTries;
use crate::ports::TryOutcome;
use std::sync::atomic::AtomicU64;
use tintype_storage::histogram::{Histogram, LONG_DURATIONS};

pub struct BackendStats {
    /// The time that each try took in microseconds, by the order of [`TryOutcome::ALL`].
    pub tries: [Histogram; TryOutcome::ALL.len()],
    /// The newest tries, for the figures of the last hour.
    pub recent: RecentTries,
    /// Tries that repeated one that had failed.
    pub retries: AtomicU64,
    /// Pictures of the backend that could not be stored.
    pub unusable: AtomicU64,
    /// Runs that gave up on the backend, whether or not another one was left.
    pub given_up: AtomicU64,
}

impl Default for BackendStats {
    fn default() -> Self {
        Self {
            tries: std::array::from_fn(|_| Histogram::new(LONG_DURATIONS)),
            recent: RecentTries::default(),
            retries: AtomicU64::new(0),
            unusable: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }
}
