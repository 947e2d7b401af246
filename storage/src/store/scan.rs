//! Lists: whole ranges in bounded steps, and pages with a cursor.

use super::{Record, Store, StoreError, decode};
use crate::engine::{Direction, Key, KeyRange};

/// Records read from the engine at a time.
const STEP: usize = 1_000;

/// A part of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The records.
    pub items: Vec<T>,
    /// The id after which the next page begins; `None` at the end.
    pub next: Option<[u8; 16]>,
}

impl Store {
    /// Calls `visit` for each record under a prefix, in rising order, reading a bounded number at a time.
    pub(crate) fn each<R: Record>(
        &self,
        prefix: Key,
        visit: impl FnMut(Key, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each_in(KeyRange::prefix(&prefix), visit)
    }

    /// The same for a part of a range.
    pub(crate) fn each_in<R: Record>(
        &self,
        mut range: KeyRange,
        mut visit: impl FnMut(Key, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        loop {
            let pairs = self.engine().scan(&range, Direction::Rising, STEP)?;
            let Some((last, _)) = pairs.last() else {
                return Ok(());
            };
            range = range.above(last.clone());
            let ended = pairs.len() < STEP;
            for (key, value) in pairs {
                visit(key, decode(&value)?)?;
            }
            if ended {
                return Ok(());
            }
        }
    }

    /// Visits every record of the store as it lies there.
    pub(crate) fn each_record(
        &self,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut range = KeyRange::prefix(&[]);
        loop {
            let pairs = self.engine().scan(&range, Direction::Rising, STEP)?;
            let Some((last, _)) = pairs.last() else {
                return Ok(());
            };
            range = range.above(last.clone());
            for (key, value) in &pairs {
                visit(key, value)?;
            }
        }
    }

    /// One page of the records under a prefix whose keys end with an id; `after` is the last id of the page before.
    pub(crate) fn page<R: Record>(
        &self,
        prefix: Key,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<R>, StoreError> {
        let mut range = KeyRange::prefix(&prefix);
        if let Some(id) = after {
            let key = [prefix.as_slice(), &id].concat();
            range = match direction {
                Direction::Rising => range.above(key),
                Direction::Falling => range.below(key),
            };
        }
        let mut pairs = self.engine().scan(&range, direction, limit + 1)?;
        let more = pairs.len() > limit;
        pairs.truncate(limit);
        let next = if more {
            pairs.last().and_then(|(key, _)| super::keys::last_id(key))
        } else {
            None
        };
        let items = pairs
            .iter()
            .map(|(_, value)| decode(value))
            .collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }
}
