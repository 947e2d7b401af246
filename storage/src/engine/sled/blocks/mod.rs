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
use super::failed;
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
    fn last_block(&self, until: Bound<Key>) -> Result<Option<Block>, EngineError> {
        self.blocks_falling(until).next()
    }

    /// The blocks within a bound of the keys in sled, from the last one.
    fn blocks_falling(&self, until: Bound<Key>) -> FallingBlocks<'_> {
        FallingBlocks {
            blocks: self,
            until,
            found: None,
        }
    }
}

/// Blocks from the right to the left.
///
/// sled looks through one leaf after the other, and its iterator keeps the last leaf. If a cut writes a part into the right leaf
/// meanwhile, and then another part into the left one, it could miss the records of the first; then it looks again.
struct FallingBlocks<'a> {
    blocks: &'a BlockTree,
    until: Bound<Key>,
    /// The cuts before the iterator was created, and the iterator.
    found: Option<(u64, ::sled::Iter)>,
}

impl FallingBlocks<'_> {
    fn next(&mut self) -> Result<Option<Block>, EngineError> {
        let BlockTree { tree, cuts } = self.blocks;
        loop {
            let (cuts_before, found) = self.found.get_or_insert_with(|| {
                let cuts = cuts.load(Ordering::Acquire);
                let within = (Bound::Included(vec![BLOCKS]), self.until.clone());
                (cuts, tree.range(within))
            });
            let last = found.next_back().transpose().map_err(failed)?;
            if cuts.load(Ordering::Acquire) != *cuts_before {
                self.found = None;
                continue;
            }
            return Ok(last.map(|(sled_key, bytes)| {
                self.until = Bound::Excluded(sled_key.to_vec());
                Block { sled_key, bytes }
            }));
        }
    }
}

impl Block {
    fn key(&self) -> &[u8] {
        &self.sled_key[1..]
    }

    /// The wanted records below `end`.
    fn records_below(
        &self,
        end: Option<&[u8]>,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<Record<'_>>, EngineError> {
        let is_below = |key: &[u8]| end.is_none_or(|end| key < end);
        block::decode(self.key(), &self.bytes, is_below, is_wanted)
    }
}

/// The key in sled of the block that begins at `key`.
fn sled_key(key: &[u8]) -> Key {
    [&[BLOCKS], key].concat()
}
