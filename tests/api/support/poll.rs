//! Polling for a condition.

use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(3);

/// Polls until `look` returns a value; `None` after a minute.
pub fn poll<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(found) = look() {
            return Some(found);
        }
        thread::sleep(STEP);
    }
    None
}

/// Polls until `look` returns a value; panics after a minute.
pub fn until_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    poll(look).unwrap_or_else(|| panic!("waited in vain until {what}"))
}

/// Polls until `look` returns true; panics after a minute.
pub fn until(what: &str, mut look: impl FnMut() -> bool) {
    until_some(what, || look().then_some(()));
}
