//! A cache of values that take long to compute.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tintype_fair_semaphore::FairSemaphore;

/// A value is valid for this many times the time it took to compute. So computing each value takes at most a twentieth of one core,
/// however long the history is.
const AGE_PER_COST: u32 = 20;
/// [`CostCache::get_or_compute`] caches a value that takes no time to compute as if it took this long.
const MIN_COST: Duration = Duration::from_millis(25);

/// The last value of each subject.
pub struct CostCache<S: Eq + Clone, V> {
    values: Mutex<BTreeMap<S, CachedValue<V>>>,
    turns: FairSemaphore<S>,
}

struct CachedValue<V> {
    value: V,
    valid_until: Instant,
}

impl<S: Eq + Clone, V> Default for CostCache<S, V> {
    fn default() -> Self {
        Self {
            values: Mutex::default(),
            // One caller for each subject.
            turns: FairSemaphore::per_key(1),
        }
    }
}

impl<S: Ord + Clone, V: Clone> CostCache<S, V> {
    /// Returns the cached value, or computes it once for all concurrent callers.
    ///
    /// # Errors
    /// Those of `compute`. Each waiting caller then computes again.
    pub async fn get_or_compute<E>(
        &self,
        subject: S,
        compute: impl AsyncFnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let _turn = self.turns.acquire(subject.clone(), 1).await;
        if let Some(value) = self.get(&subject) {
            return Ok(value);
        }
        let began = Instant::now();
        let value = compute().await?;
        self.put(subject, value.clone(), began.elapsed().max(MIN_COST));
        Ok(value)
    }

    /// `None` once the value has expired.
    pub fn get(&self, subject: &S) -> Option<V> {
        let all = self.values.lock();
        let found = all.get(subject);
        let valid = found.filter(|it| Instant::now() < it.valid_until);
        valid.map(|it| it.value.clone())
    }

    /// Caches a value that took `cost` to compute, and drops the values that have expired.
    pub fn put(&self, subject: S, value: V, cost: Duration) {
        let now = Instant::now();
        let mut all = self.values.lock();
        all.retain(|_, it| now < it.valid_until);
        let valid_until = now + cost * AGE_PER_COST;
        all.insert(subject, CachedValue { value, valid_until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_value_is_valid_for_a_multiple_of_its_cost() {
        let cache = CostCache::default();
        cache.put("cheap", 1, Duration::ZERO);
        assert_eq!(cache.get(&"cheap"), None);
        cache.put("costly", 2, Duration::from_secs(60));
        assert_eq!(cache.get(&"costly"), Some(2));
        assert_eq!(cache.values.lock().len(), 1, "the expired one is dropped");
    }
    #[tokio::test]
    async fn concurrent_callers_compute_a_value_once() {
        let cache = CostCache::default();
        let computed = &Cell::new(0);
        let get = |subject| {
            cache.get_or_compute(subject, async move || {
                tokio::task::yield_now().await;
                computed.set(computed.get() + 1);
                Ok::<_, ()>(subject)
            })
        };
        let found = tokio::join!(get("fox"), get("owl"), get("fox"));
        assert_eq!(found, (Ok("fox"), Ok("owl"), Ok("fox")));
        assert_eq!(computed.get(), 2);
        let failed = cache.get_or_compute("elk", async || Err("no")).await;
        assert_eq!(failed, Err("no"));
        let again = cache.get_or_compute("elk", async || Ok::<_, ()>("elk"));
        assert_eq!(again.await, Ok("elk"), "a failure is not cached");
    }
}
