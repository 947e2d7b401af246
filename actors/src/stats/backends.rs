//! Counters of one backend.

use super::recent_tries::RecentTries;
use crate::ports::TryOutcome;
use std::sync::atomic::AtomicU64;
use tintype_storage::histogram::{Histogram, LONG_DURATIONS};

pub struct BackendStats {
    /// The duration of each try in microseconds, in the order of [`TryOutcome::ALL`].
    pub tries: [Histogram; TryOutcome::ALL.len()],
    pub recent: RecentTries,
    /// Repeated tries.
    pub retries: AtomicU64,
    /// Images that could not be stored.
    pub unusable: AtomicU64,
    /// Runs that gave up on the backend, including those without another backend to try.
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
