//! Where the actors get the moment from.

use std::sync::Arc;
use tintype_storage::domain::time::Timestamp;

/// Tells the moment. A test gives its own.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(Timestamp::now)
}
