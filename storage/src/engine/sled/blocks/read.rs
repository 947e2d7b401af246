//! Reading records from blocks.

use super::super::super::{Direction, EngineError, Key, KeyRange, Value};
use super::block::{self, Entries, StoredValue};
use super::{AFTER_BLOCKS, BLOCKS, Block, BlockTree, sled_key};
use std::iter;
use std::ops::Bound;

/// A record with its value.
type Pair = (Key, Value);

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

    /// The records of a range, in order.
    pub fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = Result<Pair, ReadError>> + '_> {
        match direction {
            Direction::Rising => Box::new(self.rising(range.clone())),
            Direction::Falling => Box::new(self.falling(range.clone())),
        }
    }

    /// A cut during the scan moves records to the right: they are met again, but not missed.
    fn rising(&self, range: KeyRange) -> impl Iterator<Item = Result<Pair, ReadError>> {
        let first = match &range.from {
            Bound::Unbounded => Ok(None),
            Bound::Included(key) | Bound::Excluded(key) => {
                self.last_block(Bound::Included(sled_key(key)))
            }
        };
        let (failed, first) = match first {
            Ok(first) => (None, first),
            Err(error) => (Some(Err(error.into())), None),
        };
        let from = match (first, &range.from) {
            (Some(block), _) => Bound::Included(block.sled_key.to_vec()),
            (None, bound) => in_sled(bound, Bound::Included(vec![BLOCKS])),
        };
        let until = in_sled(&range.to, Bound::Excluded(vec![AFTER_BLOCKS]));
        let mut blocks = self.tree.range::<Key, _>((from, until)).peekable();
        let mut passed: Option<Key> = None;
        let records = iter::from_fn(move || {
            let next = blocks
                .next()?
                .map(|(sled_key, bytes)| Block { sled_key, bytes });
            let block = match next {
                Ok(block) => block,
                Err(error) => return Some(vec![Err(super::super::failed(error).into())]),
            };
            let end = match blocks.peek() {
                Some(Ok((sled_key, _))) => Some(&sled_key[1..]),
                Some(Err(_)) | None => None,
            };
            let after = passed.take();
            let is_within = |key: &[u8]| {
                after.as_deref().is_none_or(|after| key > after) && range.contains(key)
            };
            let records = self.pairs(&block, end, is_within);
            let last = records.iter().rev().find_map(|it| it.as_ref().ok());
            passed = last.map(|(key, _)| key.clone()).or(after);
            Some(records)
        });
        failed.into_iter().chain(records.flatten())
    }

    fn falling(&self, range: KeyRange) -> impl Iterator<Item = Result<Pair, ReadError>> {
        let until = in_sled(&range.to, Bound::Excluded(vec![AFTER_BLOCKS]));
        let mut blocks = Some(self.blocks_falling(until));
        let mut end: Option<Block> = None;
        let records = iter::from_fn(move || {
            let block = match blocks.as_mut()?.next() {
                Ok(block) => block?,
                Err(error) => {
                    blocks = None;
                    return Some(vec![Err(error.into())]);
                }
            };
            let end_key = end.as_ref().map(Block::key);
            let mut records = self.pairs(&block, end_key, |key| range.contains(key));
            records.reverse();
            let is_first = match &range.from {
                Bound::Included(from) | Bound::Excluded(from) => block.key() <= &**from,
                Bound::Unbounded => false,
            };
            if is_first {
                blocks = None;
            }
            end = Some(block);
            Some(records)
        });
        records.flatten()
    }

    /// The records of a block below `end`, with their values.
    fn pairs(
        &self,
        block: &Block,
        end: Option<&[u8]>,
        is_within: impl Fn(&[u8]) -> bool,
    ) -> Vec<Result<Pair, ReadError>> {
        let mut pairs = Vec::new();
        let mut entries = Entries::new(block.key(), &block.bytes);
        loop {
            let value = match entries.next() {
                Ok(Some(value)) => value,
                Ok(None) => return pairs,
                Err(error) => return vec![Err(error.into())],
            };
            let key = entries.key();
            if end.is_some_and(|end| key >= end) {
                return pairs;
            }
            if is_within(key) {
                let value = self.value(key, value);
                pairs.push(value.map(|value| (key.to_vec(), value)));
            }
        }
    }

    fn value(&self, key: &[u8], value: StoredValue<'_>) -> Result<Value, ReadError> {
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
