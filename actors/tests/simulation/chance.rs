//! The one source of chance of a story: the same seed gives the same numbers.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// A small generator that repeats itself from a seed (splitmix64). A clone draws from the same row.
#[derive(Clone)]
pub struct Chance(Arc<Mutex<u64>>);

impl Chance {
    pub fn new(seed: u64) -> Self {
        // Neighbouring seeds are to tell different stories from the first number on.
        let chance = Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
        )));
        chance.next();
        chance
    }

    fn next(&self) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = *state;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).unsigned_abs()) as i64
    }

    /// True once in so many times.
    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn pick<T: Clone>(&self, from: &[T]) -> Option<T> {
        let at = self.below(from.len() as u64) as usize;
        from.get(at).cloned()
    }

    /// A span between two numbers of milliseconds.
    pub fn millis(&self, low: i64, high: i64) -> Duration {
        Duration::from_millis(self.between(low, high).unsigned_abs())
    }

    /// Between 0 and 1.
    pub fn fraction(&self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 20) as f64
    }
}
