//! Values that are too large for a block are stored in pieces.
//!
//! sled writes a leaf of more than 128 KiB to a separate file that it never syncs. A leaf has up to 20 entries, so no entry may
//! be larger than a twentieth of that.

use super::{AFTER_BLOCKS, BlockTree};
use crate::engine::EngineError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum bytes of a key with its value, or with a piece. The number of a value's pieces follows from it, so it is part of the stored
/// format. The key of a piece adds 13 bytes; 20 such entries stay below 128 KiB.
pub const MAX_ENTRY_BYTES: usize = 5_632;
/// The prefix of pieces in sled.
const PIECES: u8 = AFTER_BLOCKS;

/// A value in pieces. Its digest is a part of their keys, so pieces of different values never mix, and writing the same value
/// again after a crash leaves no other pieces behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LargeValue {
    digest: [u8; 8],
    bytes: u32,
}

impl LargeValue {
    fn new(value: &[u8]) -> Self {
        let mut digest = [0; 8];
        digest.copy_from_slice(&Sha256::digest(value)[..8]);
        Self {
            digest,
            bytes: value.len() as u32,
        }
    }

    /// The keys of the pieces in sled.
    fn piece_keys(self, key: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let pieces = (self.bytes as usize).div_ceil(piece_bytes(key));
        let before = [&[PIECES], key, &self.digest].concat();
        (0..pieces as u32).map(move |number| [&before[..], &number.to_be_bytes()].concat())
    }
}

fn piece_bytes(key: &[u8]) -> usize {
    // A key is at most a few hundred bytes long.
    MAX_ENTRY_BYTES.saturating_sub(key.len()).max(1_024)
}

impl BlockTree {
    /// Writes the pieces of a value.
    pub(super) fn write_pieces(&self, key: &[u8], value: &[u8]) -> Result<LargeValue, EngineError> {
        let large = LargeValue::new(value);
        for (piece_key, piece) in large.piece_keys(key).zip(value.chunks(piece_bytes(key))) {
            self.tree
                .insert(piece_key, piece)
                .map_err(super::super::failed)?;
        }
        Ok(large)
    }

    /// Reads a value; `None` if its pieces were removed since its block was read.
    pub(super) fn read_pieces(
        &self,
        key: &[u8],
        large: LargeValue,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let mut value = Vec::with_capacity(large.bytes as usize);
        for piece_key in large.piece_keys(key) {
            match self.tree.get(piece_key).map_err(super::super::failed)? {
                Some(piece) => value.extend_from_slice(&piece),
                None => return Ok(None),
            }
        }
        Ok((value.len() == large.bytes as usize).then_some(value))
    }

    pub(super) fn remove_pieces(&self, key: &[u8], large: LargeValue) -> Result<(), EngineError> {
        for piece_key in large.piece_keys(key) {
            self.tree.remove(piece_key).map_err(super::super::failed)?;
        }
        Ok(())
    }
}
