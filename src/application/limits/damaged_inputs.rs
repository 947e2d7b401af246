//! Tracks API keys that recently sent damaged input images.

use super::rate_limit::Elapsed;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::KeyId;

const RECENT: Duration = Duration::from_secs(60);
/// Expired keys are removed only from this size on.
const SWEEP_SIZE: usize = 1_024;

/// Kept in memory only.
pub struct DamagedInputs {
    elapsed: Elapsed,
    /// When a job of the key last failed.
    noted: Mutex<HashMap<KeyId, Duration>>,
}

impl DamagedInputs {
    pub fn new(elapsed: &Elapsed) -> Self {
        Self {
            elapsed: Arc::clone(elapsed),
            noted: Mutex::default(),
        }
    }

    /// Records that a job of this key failed because an input image is damaged.
    pub fn add(&self, key: KeyId) {
        let now = (self.elapsed)();
        let mut noted = self.noted.lock();
        if noted.len() >= SWEEP_SIZE {
            noted.retain(|_, at| *at + RECENT > now);
        }
        noted.insert(key, now);
    }

    /// Was an input image of this key damaged within the last minute?
    pub fn are_recent(&self, key: KeyId) -> bool {
        let now = (self.elapsed)();
        let noted = self.noted.lock();
        noted.get(&key).is_some_and(|at| *at + RECENT > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use uuid::Uuid;

    #[test]
    fn damaged_inputs_are_remembered_for_one_minute_per_key_and_then_dropped() {
        let seconds = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&seconds);
        let elapsed: Elapsed = Arc::new(move || Duration::from_secs(read.load(Ordering::Relaxed)));
        let inputs = DamagedInputs::new(&elapsed);
        let key = |number| KeyId(Uuid::from_u128(number));
        inputs.add(key(1));
        assert!(inputs.are_recent(key(1)) && !inputs.are_recent(key(2)));
        seconds.store(30, Ordering::Relaxed);
        inputs.add(key(2));
        seconds.store(60, Ordering::Relaxed);
        assert!(!inputs.are_recent(key(1)) && inputs.are_recent(key(2)));
        (3..2_000).for_each(|number| inputs.add(key(number)));
        seconds.store(120, Ordering::Relaxed);
        inputs.add(key(1));
        assert_eq!(inputs.noted.lock().len(), 1);
    }
}
