//! Merging changes into blocks.

use super::super::super::{EngineError, Key, Value, write_size};
use super::super::failed;
use super::block::{self, Record, StoredValue};
use super::large_value::{LargeValue, MAX_ENTRY_BYTES};
use super::{AFTER_BLOCKS, Block, BlockTree, sled_key};
use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Bound;
use std::sync::atomic::Ordering;

/// A block of more bytes is cut. Larger ones hardly save processor time, but a change of one record writes them whole.
const BLOCK_BYTES: usize = 2_048;
/// Maximum bytes of changes in one merge, so that the caller can sync in time.
const MERGE_BYTES: usize = 16 * 1024;

/// What a merge did, in bytes of keys and values.
#[derive(Default)]
pub struct MergeTotals {
    /// Of the merged changes.
    pub changed: usize,
    /// Written to sled.
    pub written: usize,
}

impl BlockTree {
    /// Merges the next changes that belong into one block. `changes` rise by key.
    pub fn merge<'a>(
        &self,
        changes: &mut Peekable<impl Iterator<Item = (&'a Key, &'a Option<Value>)>>,
    ) -> Result<MergeTotals, EngineError> {
        let mut merged = MergeTotals::default();
        let Some((first, _)) = changes.peek().copied() else {
            return Ok(merged);
        };
        let block = self.block_for(first)?;
        let end = self.block_after(block.as_ref().map_or(first, Block::key))?;
        let end = end.as_ref().map(Block::key);
        let belongs =
            |key: &Key| key.first() == first.first() && end.is_none_or(|end| key.as_slice() < end);
        let old = match &block {
            Some(block) => block.records_below(end, |_| true)?,
            None => Vec::new(),
        };
        let mut old = old.into_iter().peekable();
        let mut records: Vec<Record<'_>> = Vec::new();
        let mut replaced: Vec<(&Key, LargeValue)> = Vec::new();
        while merged.changed < MERGE_BYTES
            && let Some((key, value)) = changes.next_if(|(key, _)| belongs(key))
        {
            merged.changed += write_size(key, value.as_ref());
            while let Some(record) = old.next_if(|it| &*it.key < key.as_slice()) {
                records.push(record);
            }
            let before = old.next_if(|it| &*it.key == key.as_slice());
            let now = value.as_ref().map(|it| self.stored(key, it, &mut merged));
            let now = now.transpose()?;
            if let Some(StoredValue::Large(large)) = before.map(|it| it.value)
                && now != Some(StoredValue::Large(large))
            {
                replaced.push((key, large));
            }
            records.extend(now.map(|value| Record {
                key: Cow::Borrowed(key),
                value,
            }));
        }
        let is_append = old.peek().is_none();
        records.extend(old);
        self.write(block.as_ref(), &records, is_append, &mut merged)?;
        // Last, because readers follow the block.
        for (key, large) in replaced {
            self.remove_pieces(key, large)?;
        }
        Ok(merged)
    }

    /// Writes a large value to its pieces.
    fn stored<'a>(
        &self,
        key: &[u8],
        value: &'a [u8],
        merged: &mut MergeTotals,
    ) -> Result<StoredValue<'a>, EngineError> {
        if key.len() + value.len() <= MAX_ENTRY_BYTES {
            return Ok(StoredValue::Inline(value));
        }
        merged.written += value.len();
        self.write_pieces(key, value).map(StoredValue::Large)
    }

    /// The block that `key` belongs into, if there is one of its table.
    fn block_for(&self, key: &[u8]) -> Result<Option<Block>, EngineError> {
        let block = self.last_block(Bound::Included(sled_key(key)))?;
        Ok(block.filter(|it| it.key().first() == key.first()))
    }

    fn block_after(&self, key: &[u8]) -> Result<Option<Block>, EngineError> {
        let within = (
            Bound::Excluded(sled_key(key)),
            Bound::Excluded(vec![AFTER_BLOCKS]),
        );
        let found = self.tree.range(within).next().transpose();
        let found = found.map_err(failed)?;
        Ok(found.map(|(sled_key, bytes)| Block { sled_key, bytes }))
    }

    /// Replaces a block by one with these records, or by several.
    fn write(
        &self,
        block: Option<&Block>,
        records: &[Record<'_>],
        is_append: bool,
        merged: &mut MergeTotals,
    ) -> Result<(), EngineError> {
        let parts = cut(records, is_append);
        for (number, part) in parts.iter().enumerate().rev() {
            let left = block.filter(|_| number == 0);
            let key = left.map_or(&*part[0].key, Block::key);
            let bytes = block::encode(key, part)?;
            if left.is_some_and(|it| it.bytes == bytes) {
                continue;
            }
            if number + 1 < parts.len() {
                self.cuts.fetch_add(1, Ordering::AcqRel);
            }
            self.insert(key, bytes, merged)?;
        }
        match block {
            Some(block) if parts.is_empty() => self.remove(block, merged),
            _ => Ok(()),
        }
    }

    fn insert(
        &self,
        key: &[u8],
        bytes: Vec<u8>,
        merged: &mut MergeTotals,
    ) -> Result<(), EngineError> {
        merged.written += key.len() + bytes.len();
        self.tree.insert(sled_key(key), bytes).map_err(failed)?;
        Ok(())
    }

    /// Removes a block without records.
    ///
    /// A crash during a cut leaves moved records in the block to the left as well. They would count again without this block, so
    /// they are removed first.
    fn remove(&self, block: &Block, merged: &mut MergeTotals) -> Result<(), EngineError> {
        if let Some(left) = self.last_block(Bound::Excluded(block.sled_key.to_vec()))? {
            let records = left.records_below(Some(block.key()), |_| true)?;
            let bytes = block::encode(left.key(), &records)?;
            if left.bytes != bytes {
                self.insert(left.key(), bytes, merged)?;
            }
        }
        self.tree.remove(&block.sled_key).map_err(failed)?;
        Ok(())
    }
}

/// Cuts records into blocks. Records are mostly appended, so full blocks are left behind then; elsewhere equal ones are, which
/// have room for later records.
fn cut<'a, 'b>(records: &'b [Record<'a>], is_append: bool) -> Vec<&'b [Record<'a>]> {
    let mut sizes = Vec::with_capacity(records.len());
    let mut previous: &[u8] = &[];
    for record in records {
        sizes.push(record.bytes_after(previous));
        previous = &record.key;
    }
    let all: usize = sizes.iter().sum();
    let limit = match is_append {
        true => BLOCK_BYTES,
        false => all.div_ceil(all.div_ceil(BLOCK_BYTES).max(1)),
    };
    let (mut parts, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (number, size) in sizes.into_iter().enumerate() {
        // Equal parts end at the record's nearer side.
        let counted = if is_append { size } else { size / 2 };
        if number > begin && bytes + counted > limit {
            parts.push(&records[begin..number]);
            (begin, bytes) = (number, 0);
        }
        bytes += size;
    }
    if begin < records.len() {
        parts.push(&records[begin..]);
    }
    parts
}
