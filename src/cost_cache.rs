//! A cache of values that take long to compute.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A value is valid for this many times the time it took to compute. So computing each value takes at most a twentieth of one core,
/// however long the history is.
const AGE_PER_COST: u32 = 20;

/// The last value of each subject.
pub struct CostCache<S, V>(Mutex<BTreeMap<S, CachedValue<V>>>);

struct CachedValue<V> {
    value: V,
    valid_until: Instant,
}

impl<S, V> Default for CostCache<S, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Ord, V: Clone> CostCache<S, V> {
    /// `None` once the value has expired.
    pub fn get(&self, subject: &S) -> Option<V> {
        let all = self.0.lock();
        let found = all.get(subject);
        let valid = found.filter(|it| Instant::now() < it.valid_until);
        valid.map(|it| it.value.clone())
    }

    /// Caches a value that took `cost` to compute, and drops the values that have expired.
    pub fn put(&self, subject: S, value: V, cost: Duration) {
        let now = Instant::now();
        let mut all = self.0.lock();
        all.retain(|_, it| now < it.valid_until);
        let valid_until = now + cost * AGE_PER_COST;
        all.insert(subject, CachedValue { value, valid_until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_valid_for_a_multiple_of_its_cost() {
        let cache = CostCache::default();
        cache.put("cheap", 1, Duration::ZERO);
        assert_eq!(cache.get(&"cheap"), None);
        cache.put("costly", 2, Duration::from_secs(60));
        assert_eq!(cache.get(&"costly"), Some(2));
        assert_eq!(cache.0.lock().len(), 1, "the expired one is dropped");
    }
}
