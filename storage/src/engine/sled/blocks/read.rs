//! Reading records from blocks.

use super::super::super::{Direction, EngineError, Key, KeyRange, Value};
use super::super::failed;
use super::block::{self, Record, StoredValue};
use super::{AFTER_BLOCKS, BLOCKS, Block, BlockTree, sled_key};
use std::ops::{Bound, ControlFlow};

#[derive(Debug)]
pub enum ReadError {
    Failed(EngineError),
    /// A large value was replaced while it was read. It is in the memtable, or in sled by now: read again.
    Replaced,
}

impl From<EngineError> for ReadError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl BlockTree {
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>, ReadError> {
        let Some(block) = self.last_block(Bound::Included(sled_key(key)))? else {
            return Ok(None);
        };
        match block::find(block.key(), &block.bytes, key)? {
            Some(value) => self.value(key, value).map(Some),
            None => Ok(None),
        }
    }

    /// Visits the records of a range, in order, until `visit` breaks.
    pub fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        visit: impl FnMut(Key, StoredValue<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        match direction {
            Direction::Rising => self.rising(range, visit),
            Direction::Falling => self.falling(range, visit),
        }
    }

    /// A cut during the scan moves records to the right: they are met again, but not missed.
    fn rising(
        &self,
        range: &KeyRange,
        mut visit: impl FnMut(Key, StoredValue<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        let first = match &range.from {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => {
                self.last_block(Bound::Included(sled_key(key)))?
            }
        };
        let from = match (first, &range.from) {
            (Some(block), _) => Bound::Included(block.sled_key.to_vec()),
            (None, bound) => in_sled(bound, Bound::Included(vec![BLOCKS])),
        };
        let until = in_sled(&range.to, Bound::Excluded(vec![AFTER_BLOCKS]));
        let mut blocks = self.tree.range::<Key, _>((from, until)).peekable();
        let mut passed: Option<Key> = None;
        while let Some((sled_key, bytes)) = blocks.next().transpose().map_err(failed)? {
            let block = Block { sled_key, bytes };
            let end = match blocks.peek() {
                Some(Ok((sled_key, _))) => Some(&sled_key[1..]),
                Some(Err(_)) | None => None,
            };
            let is_new = |key: &[u8]| passed.as_deref().is_none_or(|passed| key > passed);
            let records = block.records_below(end, |key| is_new(key) && range.contains(key))?;
            passed = records.last().map(|it| it.key.to_vec()).or(passed);
            for Record { key, value } in records {
                if visit(key.into_owned(), value)?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn falling(
        &self,
        range: &KeyRange,
        mut visit: impl FnMut(Key, StoredValue<'_>) -> Result<ControlFlow<()>, ReadError>,
    ) -> Result<(), ReadError> {
        let until = in_sled(&range.to, Bound::Excluded(vec![AFTER_BLOCKS]));
        let mut blocks = self.blocks_falling(until);
        let mut end: Option<Block> = None;
        while let Some(block) = blocks.next()? {
            let records =
                block.records_below(end.as_ref().map(Block::key), |key| range.contains(key))?;
            for Record { key, value } in records.into_iter().rev() {
                if visit(key.into_owned(), value)?.is_break() {
                    return Ok(());
                }
            }
            let is_first = match &range.from {
                Bound::Included(from) | Bound::Excluded(from) => block.key() <= &**from,
                Bound::Unbounded => false,
            };
            if is_first {
                break;
            }
            end = Some(block);
        }
        Ok(())
    }

    /// Reads a value that a scan has met.
    pub fn value(&self, key: &[u8], value: StoredValue<'_>) -> Result<Value, ReadError> {
        match value {
            StoredValue::Inline(value) => Ok(value.to_vec()),
            StoredValue::Large(large) => {
                let value = self.read_pieces(key, large)?;
                value.ok_or(ReadError::Replaced)
            }
        }
    }
}

/// A bound of records as a bound of the keys in sled.
fn in_sled(bound: &Bound<Key>, unbounded: Bound<Key>) -> Bound<Key> {
    match bound {
        Bound::Included(key) => Bound::Included(sled_key(key)),
        Bound::Excluded(key) => Bound::Excluded(sled_key(key)),
        Bound::Unbounded => unbounded,
    }
}
