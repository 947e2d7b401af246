//! The actors' sources of time and randomness.

use rand::RngExt as _;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// The current time. Tests use their own clock.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub fn system_clock() -> Clock {
    Arc::new(Timestamp::now)
}

/// A number between 0 and 1 that spreads waits. Tests use their own, so that a run can be repeated.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

pub fn random_jitter() -> Jitter {
    Arc::new(|| rand::rng().random())
}

/// The time between two timestamps; zero if the clock was set back.
pub(crate) fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(to.millis() - from.millis()).unwrap_or(0))
}
