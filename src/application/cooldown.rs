//! What may be done once in a while for each of many things.

use super::rate_limit::Elapsed;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Up to this many entries, old ones are not removed.
const FEW: usize = 1_024;

/// When each thing was last done. Not kept across restarts.
pub struct Cooldown<K> {
    span: Duration,
    elapsed: Elapsed,
    done: Mutex<HashMap<K, Duration>>,
}

impl<K: Eq + Hash> Cooldown<K> {
    pub fn new(span: Duration, elapsed: Elapsed) -> Self {
        Self {
            span,
            elapsed,
            done: Mutex::default(),
        }
    }

    /// Was it done within the span?
    pub fn is_running(&self, key: &K) -> bool {
        let now = (self.elapsed)();
        let done = self.done.lock();
        done.get(key).is_some_and(|at| *at + self.span > now)
    }

    /// Notes that it is done now.
    ///
    /// # Errors
    /// The seconds until it may be done again.
    pub fn begin(&self, key: K) -> Result<(), u32> {
        let now = (self.elapsed)();
        let left = |at: &Duration| {
            (*at + self.span)
                .checked_sub(now)
                .filter(|it| !it.is_zero())
        };
        let mut done = self.done.lock();
        if let Some(left) = done.get(&key).and_then(left) {
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            return Err(u32::try_from(seconds).unwrap_or(u32::MAX));
        }
        if done.len() >= FEW {
            done.retain(|_, at| left(at).is_some());
        }
        done.insert(key, now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn each_key_has_its_own_time_and_old_ones_are_forgotten() {
        let millis = Arc::new(AtomicU64::new(0));
        let read = Arc::clone(&millis);
        let elapsed: Elapsed =
            Arc::new(move || Duration::from_millis(read.load(Ordering::Relaxed)));
        let cooldown = Cooldown::new(Duration::from_secs(60), elapsed);
        assert_eq!(cooldown.begin(1), Ok(()));
        assert_eq!(cooldown.begin(1), Err(60));
        assert!(cooldown.is_running(&1) && !cooldown.is_running(&2));
        assert_eq!(cooldown.begin(2), Ok(()));
        millis.store(59_001, Ordering::Relaxed);
        assert_eq!(cooldown.begin(1), Err(1));
        assert!(cooldown.is_running(&1));
        millis.store(60_000, Ordering::Relaxed);
        assert!(!cooldown.is_running(&1));
        assert_eq!(cooldown.begin(1), Ok(()));
        for key in 3..2_000 {
            assert_eq!(cooldown.begin(key), Ok(()));
        }
        millis.store(120_000, Ordering::Relaxed);
        assert_eq!(cooldown.begin(2), Ok(()));
        assert_eq!(cooldown.done.lock().len(), 1);
    }
}
