//! A bounded queue whose entries expire.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

pub struct ExpiringQueue<K, V> {
    retention: Duration,
    capacity: usize,
    /// Oldest first.
    entries: Mutex<VecDeque<Entry<K, V>>>,
}

pub struct Entry<K, V> {
    pub key: K,
    pub value: V,
    pub at: Timestamp,
}

impl<K, V> ExpiringQueue<K, V> {
    /// Beyond `capacity` the oldest entries are dropped.
    pub fn new(retention: Duration, capacity: usize) -> Self {
        Self {
            retention,
            capacity,
            entries: Mutex::default(),
        }
    }

    pub fn push(&self, key: K, value: V, now: Timestamp) {
        let mut entries = self.entries.lock();
        while entries
            .front()
            .is_some_and(|oldest| !self.is_live(oldest, now) || entries.len() >= self.capacity)
        {
            entries.pop_front();
        }
        entries.push_back(Entry {
            key,
            value,
            at: now,
        });
    }

    /// When the newest of the wanted entries was pushed.
    pub fn newest(
        &self,
        now: Timestamp,
        is_wanted: impl Fn(&Entry<K, V>) -> bool,
    ) -> Option<Timestamp> {
        let entries = self.entries.lock();
        let at = self.position(&entries, now, is_wanted)?;
        entries.get(at).map(|entry| entry.at)
    }

    /// Removes and returns the newest of the wanted entries.
    pub fn take(&self, now: Timestamp, is_wanted: impl Fn(&Entry<K, V>) -> bool) -> Option<V> {
        let mut entries = self.entries.lock();
        let at = self.position(&entries, now, is_wanted)?;
        entries.remove(at).map(|entry| entry.value)
    }

    fn position(
        &self,
        entries: &VecDeque<Entry<K, V>>,
        now: Timestamp,
        is_wanted: impl Fn(&Entry<K, V>) -> bool,
    ) -> Option<usize> {
        entries
            .iter()
            .rposition(|entry| self.is_live(entry, now) && is_wanted(entry))
    }

    fn is_live(&self, entry: &Entry<K, V>, now: Timestamp) -> bool {
        now < entry.at.plus(self.retention)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn each_entry_is_taken_once_before_it_expires() {
        let queue = ExpiringQueue::new(Duration::from_secs(120), 10);
        queue.push("a", 1, at(0));
        queue.push("a", 2, at(100));
        queue.push("b", 3, at(100));
        let take = |key, now| queue.take(at(now), |entry| entry.key == key);
        let newest = |key, now| queue.newest(at(now), |entry| entry.key == key);
        assert_eq!(take("c", 101), None);
        assert_eq!((newest("a", 119), newest("c", 119)), (Some(at(100)), None));
        assert_eq!((newest("b", 219), newest("b", 220)), (Some(at(100)), None));
        assert_eq!(take("a", 119), Some(2));
        assert_eq!(take("a", 119), Some(1));
        assert_eq!(take("a", 119), None);
        assert_eq!(take("b", 220), None, "too late");
        queue.push("a", 4, at(300));
        assert_eq!(queue.entries.lock().len(), 1, "expired entries are dropped");
    }

    #[test]
    fn beyond_the_capacity_the_oldest_are_dropped() {
        let queue = ExpiringQueue::new(Duration::from_secs(120), 10);
        for id in 0..=10 {
            queue.push(id, (), at(0));
        }
        assert_eq!(queue.entries.lock().len(), 10);
        assert_eq!(queue.take(at(1), |entry| entry.key == 0), None);
    }
}
