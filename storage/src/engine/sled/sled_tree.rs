//! sled's blocks with a file descriptor of its log: applies the journal's changes durably.

use super::super::EngineError;
use super::super::wal::GroupNumber;
use super::blocks::BlockTree;
use super::io_advice::io_failed;
use super::memtable::Changes;
use super::{APPLIED, failed};
use std::fs::File;
use std::sync::Arc;

/// Bytes written to sled before its log is synced. sled writes up to four times as much to its log (pages are rewritten as they
/// grow). With what one merge writes, that stays within one segment of 512 KiB: after a power cut sled detects a hole only in the
/// last two segments.
const MAX_UNSYNCED_BYTES: usize = 80 * 1024;

/// sled's records and a separate descriptor of its log.
pub struct SledTree {
    pub db: ::sled::Db,
    pub tree: ::sled::Tree,
    pub blocks: Arc<BlockTree>,
    pub log_file: File,
}

impl SledTree {
    pub fn new(db: ::sled::Db, tree: ::sled::Tree, log_file: File) -> Self {
        Self {
            db,
            blocks: Arc::new(BlockTree::new(tree.clone())),
            tree,
            log_file,
        }
    }

    /// Returns when sled durably holds `changes` and records that it is complete up to `last`.
    ///
    /// Merges the changes one by one in key order, so neighbours find their page in the processor's cache. A sled batch was
    /// refused: its atomicity is useless here (readers use the memtable meanwhile, and after a crash the journal applies the
    /// changes again), it applies in hash order, and it blocks readers.
    ///
    /// Calls `each_step` with the size in bytes of each part of the changes that sled holds.
    pub fn apply(
        &self,
        changes: &Changes,
        last: GroupNumber,
        each_step: impl Fn(usize),
    ) -> Result<(), EngineError> {
        let mut changes = changes.iter().peekable();
        let (mut unsynced, mut changed) = (0, 0);
        while changes.peek().is_some() {
            if unsynced > MAX_UNSYNCED_BYTES {
                self.sync()?;
                each_step(changed);
                (unsynced, changed) = (0, 0);
            }
            let merged = self.blocks.merge(&mut changes)?;
            unsynced += merged.written;
            changed += merged.changed;
        }
        // Written only after the sync, so it is true after any power cut.
        self.sync()?;
        each_step(changed);
        self.tree
            .insert(APPLIED, &last.to_be_bytes())
            .map_err(failed)?;
        self.sync()
    }

    /// Returns when sled's log is on the disk.
    pub fn sync(&self) -> Result<(), EngineError> {
        // sled's own flush passes the log only to the kernel.
        self.db.flush().map_err(failed)?;
        self.log_file
            .sync_data()
            .map_err(|error| io_failed("fdatasync", &error))
    }
}
