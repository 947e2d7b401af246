//! Hides what sled shows but the disk does not hold yet.
//!
//! Between the moment a batch is applied and the moment it is synced, sled already answers with its values. Told to a
//! caller, they would be a promise that a power cut can break. So the committer first notes here what each key held before.

use super::super::{Direction, EngineError, Key, KeyRange, Value};
use super::failed;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicBool, Ordering};

/// The keys of the batch that is being made durable, with what they held before it.
#[derive(Default)]
pub struct InFlight {
    /// Lets readers pass by without the lock while nothing is in flight.
    any: AtomicBool,
    before: RwLock<BTreeMap<Key, Option<Value>>>,
}

impl InFlight {
    /// Called before a batch is applied.
    pub fn cover(&self, before: BTreeMap<Key, Option<Value>>) {
        *self.before.write() = before;
        self.any.store(true, Ordering::SeqCst);
    }

    /// Called once the batch is on the disk.
    pub fn reveal(&self) {
        self.any.store(false, Ordering::SeqCst);
        self.before.write().clear();
    }

    /// What a key held on the disk, given what sled says of it. sled must have been asked before this is.
    ///
    /// A reader that asked sled before the batch was applied has the old value either way; one that asked after it finds the
    /// key here, until the batch is durable.
    pub fn durable(&self, key: &[u8], stored: Option<&[u8]>) -> Option<Value> {
        if self.any.load(Ordering::SeqCst)
            && let Some(before) = self.before.read().get(key)
        {
            return before.clone();
        }
        stored.map(<[u8]>::to_vec)
    }

    /// The same for a range: values of the batch are replaced by the old ones, and what it removed is still there.
    pub fn durable_scan(
        &self,
        pairs: impl Iterator<Item = Result<(::sled::IVec, ::sled::IVec), ::sled::Error>>,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, EngineError> {
        let mut found = Vec::new();
        if limit == 0 {
            return Ok(found);
        }
        for pair in pairs {
            // Each pair is looked up after it was read, as `durable` demands.
            let (key, value) = pair.map_err(failed)?;
            if let Some(value) = self.durable(&key, Some(&value)) {
                found.push((key.to_vec(), value));
            }
            if found.len() >= limit {
                break;
            }
        }
        self.restore_removed(&mut found, range, direction, limit);
        Ok(found)
    }

    /// Puts what the batch removed back in its place. A key past the point where a full scan stopped stays out.
    fn restore_removed(
        &self,
        found: &mut Vec<(Key, Value)>,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) {
        if !self.any.load(Ordering::SeqCst) {
            return;
        }
        let order = |a: &Key, b: &Key| match direction {
            Direction::Rising => a.cmp(b),
            Direction::Falling => b.cmp(a),
        };
        let within = (range.from.clone(), range.to.clone());
        let full_at = found
            .last()
            .filter(|_| found.len() >= limit)
            .map(|(key, _)| key);
        let belongs = |key: &Key| {
            within.contains(key)
                && full_at.is_none_or(|last| order(key, last).is_lt())
                && found.binary_search_by(|(it, _)| order(it, key)).is_err()
        };
        let removed: Vec<(Key, Value)> = self
            .before
            .read()
            .iter()
            .filter_map(|(key, old)| Some((key, old.as_ref()?)))
            .filter(|(key, _)| belongs(key))
            .map(|(key, old)| (key.clone(), old.clone()))
            .collect();
        if !removed.is_empty() {
            found.extend(removed);
            found.sort_by(|a, b| order(&a.0, &b.0));
            found.truncate(limit);
        }
    }
}
