//! The changes that are durable in the journal and not in sled yet. Readers look here first.
//!
//! A record changes many times while it is here, and sled gets only the last value.

use super::super::wal::GroupNumber;
use super::super::{Direction, Key, KeyRange, Pairs, Value, Write, Writes};
use itertools::Itertools as _;
use parking_lot::RwLock;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::vec;

/// The newest value of each key; `None` is a deletion.
pub type Changes = BTreeMap<Key, Option<Value>>;

/// Two layers: the changes being flushed, and above them the later ones.
#[derive(Default)]
pub struct Memtable {
    layers: RwLock<Layers>,
}

#[derive(Default)]
struct Layers {
    recent: Changes,
    /// The last group in `recent`.
    last: GroupNumber,
    applying: Arc<Changes>,
}

impl Memtable {
    /// Makes the changes of a durable group visible.
    pub fn apply(&self, group: GroupNumber, changes: impl Iterator<Item = Write>) {
        let mut layers = self.layers.write();
        layers.recent.extend(changes);
        layers.last = group;
    }

    /// Starts a flush. Returns the changes for sled and their last group; they stay visible until [`Memtable::flushed`].
    pub fn begin_flush(&self) -> (Arc<Changes>, GroupNumber) {
        let mut layers = self.layers.write();
        layers.applying = Arc::new(std::mem::take(&mut layers.recent));
        (Arc::clone(&layers.applying), layers.last)
    }

    /// Ends the flush: sled holds the changes of [`Memtable::begin_flush`].
    pub fn flushed(&self) {
        let applied = std::mem::take(&mut self.layers.write().applying);
        // Freed without the lock: it may be large.
        drop(applied);
    }

    /// The key's value here. Read sled after this, never before: a change that leaves the memtable is in sled already.
    pub fn get(&self, key: &[u8]) -> Option<Option<Value>> {
        let layers = self.layers.read();
        layers
            .recent
            .get(key)
            .or_else(|| layers.applying.get(key))
            .cloned()
    }

    /// The changes in a range that affect a scan for `limit` pairs, in the scan's order: all up to and including the `limit`-th
    /// value.
    pub fn within(&self, range: &KeyRange, direction: Direction, limit: usize) -> Writes {
        if range.is_empty() {
            return Vec::new();
        }
        let bounds = (bytes_of(&range.from), bytes_of(&range.to));
        let layers = self.layers.read();
        let recent = layers.recent.range::<[u8], _>(bounds);
        let applying = layers.applying.range::<[u8], _>(bounds);
        match direction {
            Direction::Rising => newest(recent, applying, Key::cmp, limit),
            Direction::Falling => {
                let falling = |a: &Key, b: &Key| b.cmp(a);
                newest(recent.rev(), applying.rev(), falling, limit)
            }
        }
    }
}

fn bytes_of(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The upper layer over the lower one, up to and including the `limit`-th value. Deletions do not count.
fn newest<'a>(
    upper: impl Iterator<Item = (&'a Key, &'a Option<Value>)>,
    lower: impl Iterator<Item = (&'a Key, &'a Option<Value>)>,
    order: impl Fn(&Key, &Key) -> Ordering,
    limit: usize,
) -> Writes {
    let merged = upper.merge_join_by(lower, |(above, _), (below, _)| order(above, below));
    let (mut found, mut values) = (Vec::new(), 0);
    for (key, value) in merged.map(|it| it.reduce(|above, _| above)) {
        if values == limit {
            break;
        }
        values += usize::from(value.is_some());
        found.push((key.clone(), value.clone()));
    }
    found
}

/// Applies changes to the pairs of a scan. Both are in the scan's order.
pub struct Merge {
    above: Peekable<vec::IntoIter<Write>>,
    direction: Direction,
    limit: usize,
    found: Pairs,
}

impl Merge {
    pub fn new(changes: Writes, direction: Direction, limit: usize) -> Self {
        Self {
            above: changes.into_iter().peekable(),
            direction,
            limit,
            found: Vec::new(),
        }
    }

    /// Takes the next key of the scan, and reads its value unless a change replaces it. Breaks once there are enough pairs.
    pub fn add<E>(
        &mut self,
        key: Key,
        read: impl FnOnce(&[u8]) -> Result<Value, E>,
    ) -> Result<ControlFlow<()>, E> {
        while !self.is_full() {
            let order = self.above.peek().map(|(above, _)| match self.direction {
                Direction::Rising => above.cmp(&key),
                Direction::Falling => key.cmp(above),
            });
            match order {
                Some(Ordering::Less) => self.add_change(),
                Some(Ordering::Equal) => {
                    self.add_change();
                    break;
                }
                Some(Ordering::Greater) | None => {
                    let value = read(&key)?;
                    self.found.push((key, value));
                    break;
                }
            }
        }
        Ok(match self.is_full() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn is_full(&self) -> bool {
        self.found.len() >= self.limit
    }

    fn add_change(&mut self) {
        if let Some((key, Some(value))) = self.above.next() {
            self.found.push((key, value));
        }
    }

    /// The pairs, with the changes after the last key of the scan.
    pub fn finish(mut self) -> Pairs {
        while !self.is_full() && self.above.peek().is_some() {
            self.add_change();
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;
    use std::ops::RangeBounds;

    fn pairs() -> impl Strategy<Value = Changes> {
        let key = (b'a'..b'k').prop_map(|byte| vec![byte]);
        let value = prop::option::of(any::<u8>().prop_map(|byte| vec![byte]));
        prop::collection::btree_map(key, value, 0..10)
    }

    fn bound() -> impl Strategy<Value = Bound<Key>> {
        let key = || (b'a'..b'k').prop_map(|byte| vec![byte]);
        prop_oneof![
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    }

    /// The visible pairs of layers, lowest first.
    fn visible(layers: [&Changes; 3]) -> BTreeMap<Key, Value> {
        let mut all = Changes::new();
        for layer in layers {
            all.extend(layer.clone());
        }
        let values = all.into_iter();
        values
            .filter_map(|(key, value)| Some((key, value?)))
            .collect()
    }

    proptest! {
        #[test]
        fn a_scan_over_all_layers_shows_the_newest_of_each_key(
            (sled, applying, recent) in (pairs(), pairs(), pairs()),
            (from, to) in (bound(), bound()),
            limit in 0usize..12,
        ) {
            let below = visible([&sled, &Changes::new(), &Changes::new()]);
            let memtable = Memtable::default();
            memtable.apply(1, applying.clone().into_iter());
            memtable.begin_flush();
            memtable.apply(2, recent.clone().into_iter());
            let all = visible([&sled, &applying, &recent]);
            let range = KeyRange { from, to };
            let bounds = (range.from.clone(), range.to.clone());
            for direction in [Direction::Rising, Direction::Falling] {
                let within = |pairs: &BTreeMap<Key, Value>| {
                    let within = pairs.iter().filter(|(key, _)| bounds.contains(*key));
                    let mut within: Vec<_> = within.map(|(key, value)| (key.clone(), value.clone())).collect();
                    if direction == Direction::Falling {
                        within.reverse();
                    }
                    within
                };
                let mut expected = within(&all);
                expected.truncate(limit);
                let changes = memtable.within(&range, direction, limit);
                let mut merge = Merge::new(changes, direction, limit);
                for (key, value) in within(&below) {
                    if merge.add(key, |_| Ok::<_, Infallible>(value)) == Ok(ControlFlow::Break(())) {
                        break;
                    }
                }
                prop_assert_eq!(merge.finish(), expected);
            }
            for key in b'a'..b'k' {
                let found = memtable.get(&[key]).unwrap_or_else(|| below.get(&vec![key]).cloned());
                prop_assert_eq!(found.as_ref(), all.get(&vec![key]));
            }
        }
    }

    #[test]
    fn changes_stay_visible_during_a_flush() {
        let memtable = Memtable::default();
        memtable.apply(7, [(b"a".to_vec(), Some(vec![1]))].into_iter());
        let (changes, last) = memtable.begin_flush();
        assert_eq!((changes.len(), last), (1, 7));
        assert_eq!(memtable.get(b"a"), Some(Some(vec![1])));
        memtable.apply(8, [(b"a".to_vec(), None)].into_iter());
        assert_eq!(memtable.get(b"a"), Some(None));
        memtable.flushed();
        assert_eq!(memtable.get(b"a"), Some(None));
        let (changes, last) = memtable.begin_flush();
        assert_eq!((changes.len(), last), (1, 8));
        memtable.flushed();
        assert_eq!(memtable.get(b"a"), None);
    }
}
