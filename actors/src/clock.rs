//! Where the actors get the moment from, and chance.

use rand::RngExt as _;
use std::sync::Arc;
use tintype_storage::domain::time::Timestamp;

/// Tells the moment. A test gives its own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(Timestamp::now)
}

/// A number between 0 and 1 by which waits are spread. A test gives its own, so that a run can be repeated.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Chance itself.
pub fn random_jitter() -> Jitter {
    Arc::new(|| rand::rng().random())
}
