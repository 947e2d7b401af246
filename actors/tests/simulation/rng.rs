//! The random number generator of a scenario: the same seed gives the same numbers.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// splitmix64. Clones share the state.
#[derive(Clone)]
pub struct Rng(Arc<Mutex<u64>>);

impl Rng {
    pub fn new(seed: u64) -> Self {
        // Scrambles the seed, so that neighbouring seeds differ from the first number on.
        let rng = Self(Arc::new(Mutex::new(
            seed.wrapping_mul(0x2545_f491_4f6c_dd1d),
        )));
        rng.next();
        rng
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

    /// A number from `low` to `high`, inclusive.
    pub fn between(&self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).unsigned_abs()) as i64
    }

    /// True with the probability 1 / `times`.
    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Clone>(&self, from: &[T]) -> Option<T> {
        let at = self.below(from.len() as u64) as usize;
        from.get(at).cloned()
    }

    pub fn millis(&self, low: i64, high: i64) -> Duration {
        Duration::from_millis(self.between(low, high).unsigned_abs())
    }

    /// Between 0 and 1.
    pub fn fraction(&self) -> f64 {
        self.below(1 << 20) as f64 / (1 << 20) as f64
    }
}
