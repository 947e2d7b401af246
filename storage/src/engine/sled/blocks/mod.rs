//! Records in blocks: neighbouring records share one value of sled.
//!
//! sled splits a leaf at 17 entries and rewrites it as it grows, which costs as much for a small value as for a large one. In
//! blocks an insert costs sled a third of the processor time, and its table of pages is a fraction as large.
//!
//! A block is stored under the key of its first record when it was created. It holds the records from its key up to the next
//! block's key, its *end*. A merge that cuts a block writes the right parts first. So a crash, or a reader at that moment, may
//! find moved records in both blocks, but never in none; those past the end of a block do not count. Blocks with records of
//! different first bytes, which tell tables apart, are never shared.

mod block;
mod large_value;
mod merge;
mod read;
#[cfg(test)]
mod tests;

pub use read::ReadError;

use super::super::{EngineError, Key};
use block::Record;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};

/// The prefix of blocks in sled. Pieces of large values, and sled's other entries, have others.
const BLOCKS: u8 = 1;
/// The first key past all blocks.
const AFTER_BLOCKS: u8 = BLOCKS + 1;

/// A sled tree that holds records in blocks. One thread writes.
pub struct BlockTree {
    tree: ::sled::Tree,
    /// Counts the parts of cuts: each is counted after the parts to its right are written and before it is written itself.
    cuts: AtomicU64,
}

/// A block as it was read.
struct Block {
    sled_key: ::sled::IVec,
    bytes: ::sled::IVec,
}

impl BlockTree {
    pub fn new(tree: ::sled::Tree) -> Self {
        Self {
            tree,
            cuts: AtomicU64::new(0),
        }
    }

    /// The last block within a bound of the keys in sled.
    ///
    /// sled looks through one leaf after the other, from the right. If a cut writes a part into the right leaf meanwhile, and then
    /// another part into the left one, it could miss the records of the first; then it looks again.
    fn last_block(&self, until: Bound<Key>) -> Result<Option<Block>, EngineError> {
        loop {
            let cuts = self.cuts.load(Ordering::Acquire);
            let within = (Bound::Included(vec![BLOCKS]), until.clone());
            let found = self.tree.range(within).next_back().transpose();
            let found = found.map_err(super::failed)?;
            if self.cuts.load(Ordering::Acquire) == cuts {
                return Ok(found.map(|(sled_key, bytes)| Block { sled_key, bytes }));
            }
        }
    }
}

impl Block {
    fn key(&self) -> &[u8] {
        &self.sled_key[1..]
    }

    /// The records below `end`.
    fn records_below(&self, end: Option<&[u8]>) -> Result<Vec<Record<'_>>, EngineError> {
        let mut records = block::decode(self.key(), &self.bytes)?;
        if let Some(end) = end {
            records.truncate(records.partition_point(|it| &*it.key < end));
        }
        Ok(records)
    }
}

/// The key in sled of the block that begins at `key`.
fn sled_key(key: &[u8]) -> Key {
    [&[BLOCKS], key].concat()
}
