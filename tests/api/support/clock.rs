//! A clock that moves only when a test moves it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};
use tintype::application::Elapsed;
use tintype_actors::clock::Clock;
use tintype_storage::domain::time::Timestamp;

/// 2026-11-18T11:06:40.001Z
pub const START_MILLIS: i64 = 1_795_000_000_001;
/// The start time as the service formats it.
pub const START: &str = "2026-11-18T11:06:40.001Z";

/// The time of one or more servers. Clones share it.
#[derive(Clone)]
pub struct TestClock(Arc<AtomicI64>);

impl Default for TestClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(START_MILLIS)))
    }
}

impl TestClock {
    /// The clock to pass to a server.
    pub fn clock(&self) -> Clock {
        let millis = Arc::clone(&self.0);
        Arc::new(move || Timestamp::from_millis(millis.load(Ordering::SeqCst)))
    }

    /// Time since the start, for rate limits.
    pub fn elapsed(&self) -> Elapsed {
        let millis = Arc::clone(&self.0);
        Arc::new(move || {
            let since = millis.load(Ordering::SeqCst) - START_MILLIS;
            Duration::from_millis(since.max(0).unsigned_abs())
        })
    }

    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(span.as_millis() as i64, Ordering::SeqCst);
    }

    /// Moves the clock backwards.
    pub fn set_back(&self, span: Duration) {
        self.0.fetch_sub(span.as_millis() as i64, Ordering::SeqCst);
    }

    /// Seconds since the Unix epoch.
    pub fn seconds(&self) -> i64 {
        self.0.load(Ordering::SeqCst) / 1_000
    }
}

/// Sets the age of a file in days before the start of the test clock.
pub fn age(path: &Path, days: u64) {
    let start = SystemTime::UNIX_EPOCH + Duration::from_millis(START_MILLIS.unsigned_abs());
    let then = start - Duration::from_secs(days * 86_400);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(then).unwrap();
}
