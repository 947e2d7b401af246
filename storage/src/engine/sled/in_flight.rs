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

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Falling, Rising};

    /// In flight: `b` and `f` are removed, `c` is changed, `d` is new. On the disk: `a b c e f` with value 1.
    fn in_flight() -> InFlight {
        let in_flight = InFlight::default();
        let old = |key: &str, value: Option<&str>| (key.into(), value.map(Into::into));
        in_flight.cover(BTreeMap::from([
            old("b", Some("1")),
            old("c", Some("1")),
            old("d", None),
            old("f", Some("1")),
        ]));
        in_flight
    }

    /// What sled shows meanwhile.
    const SHOWN: [&str; 4] = ["a1", "c2", "d2", "e1"];

    fn scan(in_flight: &InFlight, range: &KeyRange, direction: Direction, limit: usize) -> String {
        let within = (range.from.clone(), range.to.clone());
        let mut shown: Vec<_> = SHOWN
            .iter()
            .map(|it| (::sled::IVec::from(&it[..1]), ::sled::IVec::from(&it[1..])))
            .filter(|(key, _)| within.contains(&key.to_vec()))
            .map(Ok)
            .collect();
        if direction == Falling {
            shown.reverse();
        }
        let found = in_flight.durable_scan(shown.into_iter(), range, direction, limit);
        let text = |(key, value): (Key, Value)| [key, value].concat();
        let found: Vec<_> = found.expect("scan").into_iter().map(text).collect();
        String::from_utf8(found.join(&b' ')).expect("text")
    }

    #[test]
    fn a_key_is_what_it_was_until_it_is_revealed() {
        let in_flight = in_flight();
        let durable = |key: &str, shown: Option<&str>| {
            let found = in_flight.durable(key.as_bytes(), shown.map(str::as_bytes));
            found.map(|it| String::from_utf8(it).expect("text"))
        };
        assert_eq!(durable("a", Some("1")).as_deref(), Some("1"));
        assert_eq!(durable("b", None).as_deref(), Some("1"));
        assert_eq!(durable("c", Some("2")).as_deref(), Some("1"));
        assert_eq!(durable("d", Some("2")), None);
        in_flight.reveal();
        assert_eq!(durable("b", None), None);
        assert_eq!(durable("c", Some("2")).as_deref(), Some("2"));
        assert_eq!(durable("d", Some("2")).as_deref(), Some("2"));
    }

    #[test]
    fn a_scan_shows_what_was_at_every_limit() {
        let in_flight = in_flight();
        let all = KeyRange::prefix(b"");
        let rising = [
            "",
            "a1",
            "a1 b1",
            "a1 b1 c1",
            "a1 b1 c1 e1",
            "a1 b1 c1 e1 f1",
        ];
        let falling = [
            "",
            "f1",
            "f1 e1",
            "f1 e1 c1",
            "f1 e1 c1 b1",
            "f1 e1 c1 b1 a1",
        ];
        for limit in 0..6 {
            assert_eq!(scan(&in_flight, &all, Rising, limit), rising[limit]);
            assert_eq!(scan(&in_flight, &all, Falling, limit), falling[limit]);
        }
        assert_eq!(scan(&in_flight, &all, Rising, 99), rising[5]);
        in_flight.reveal();
        assert_eq!(scan(&in_flight, &all, Rising, 99), "a1 c2 d2 e1");
    }

    #[test]
    fn a_scan_keeps_to_its_range() {
        let in_flight = in_flight();
        let all = || KeyRange::prefix(b"");
        let above_b = all().above(b"b".to_vec());
        assert_eq!(scan(&in_flight, &above_b, Rising, 9), "c1 e1 f1");
        assert_eq!(scan(&in_flight, &above_b, Falling, 2), "f1 e1");
        let below_f = all().below(b"f".to_vec());
        assert_eq!(scan(&in_flight, &below_f, Falling, 9), "e1 c1 b1 a1");
        let crossed = all().above(b"c".to_vec()).below(b"b".to_vec());
        assert_eq!(scan(&in_flight, &crossed, Rising, 9), "");
        let removed = KeyRange::prefix(b"f");
        assert_eq!(scan(&in_flight, &removed, Rising, 1), "f1");
    }
}
