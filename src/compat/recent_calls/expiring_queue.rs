//! A bounded queue whose entries expire.

use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::time::Timestamp;

/// The key of an entry.
pub trait OwnedByKey {
    /// The API key of the call that the entry is about.
    fn owner(&self) -> KeyId;
}

impl<T> OwnedByKey for (KeyId, T) {
    fn owner(&self) -> KeyId {
        self.0
    }
}

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

impl<K: OwnedByKey, V> ExpiringQueue<K, V> {
    /// Beyond `capacity`, the oldest entry of the API key with the most entries is dropped, so that no key displaces the entries of
    /// others.
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
            .is_some_and(|oldest| !self.is_live(oldest, now))
        {
            entries.pop_front();
        }
        if entries.len() >= self.capacity {
            evict(&mut entries);
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

fn evict<K: OwnedByKey, V>(entries: &mut VecDeque<Entry<K, V>>) {
    let mut counts: BTreeMap<KeyId, usize> = BTreeMap::new();
    for entry in entries.iter() {
        *counts.entry(entry.key.owner()).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    let oldest = entries
        .iter()
        .position(|entry| most.is_some_and(|(key, _)| key == entry.key.owner()));
    if let Some(oldest) = oldest {
        entries.remove(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    impl OwnedByKey for KeyId {
        fn owner(&self) -> KeyId {
            *self
        }
    }

    fn of(key: u128) -> KeyId {
        KeyId(Uuid::from_u128(key))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn each_entry_is_taken_once_before_it_expires() {
        let queue = ExpiringQueue::new(Duration::from_secs(120), 10);
        queue.push(of(1), 1, at(0));
        queue.push(of(1), 2, at(100));
        queue.push(of(2), 3, at(100));
        let take = |key, now| queue.take(at(now), |entry| entry.key == of(key));
        let newest = |key, now| queue.newest(at(now), |entry| entry.key == of(key));
        assert_eq!(take(3, 101), None);
        assert_eq!((newest(1, 119), newest(3, 119)), (Some(at(100)), None));
        assert_eq!((newest(2, 219), newest(2, 220)), (Some(at(100)), None));
        assert_eq!(take(1, 119), Some(2));
        assert_eq!(take(1, 119), Some(1));
        assert_eq!(take(1, 119), None);
        assert_eq!(take(2, 220), None, "too late");
        queue.push(of(1), 4, at(300));
        assert_eq!(queue.entries.lock().len(), 1, "expired entries are dropped");
    }

    #[test]
    fn beyond_the_capacity_the_oldest_of_the_key_with_the_most_entries_is_dropped() {
        let queue = ExpiringQueue::new(Duration::from_secs(120), 10);
        queue.push((of(1), 0), (), at(0));
        for number in 0..100 {
            queue.push((of(2), number), (), at(1));
        }
        queue.push((of(3), 0), (), at(1));
        assert_eq!(queue.entries.lock().len(), 10);
        let has = |key, number| {
            queue
                .newest(at(2), |it| it.key == (of(key), number))
                .is_some()
        };
        assert!(has(1, 0) && has(3, 0));
        assert!(has(2, 99) && has(2, 92) && !has(2, 91));
    }
}
