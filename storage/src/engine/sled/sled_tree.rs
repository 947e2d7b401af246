//! sled's tree with a descriptor of its log: what the WAL holds is written to it, and made durable.

use super::super::wal::GroupNumber;
use super::super::{EngineError, Key, Value};
use super::io_advice::explain;
use super::memtable::Changes;
use super::{APPLIED, failed};
use std::fs::File;

/// Bytes that sled is given before its log is synced. It writes about four times as much to that (pages are rewritten as they
/// grow), so this stays within one of its segments of 512 KiB: after a power cut sled notices a hole only in the last two.
const MAX_UNSYNCED_BYTES: usize = 96 * 1024;
/// sled's side: its tree and an own descriptor of its log.
pub struct SledTree {
    pub db: ::sled::Db,
    pub tree: ::sled::Tree,
    pub log_file: File,
}

impl SledTree {
    /// Returns once sled durably holds `changes`, and knows that it is complete up to `last`.
    ///
    /// The changes go in one by one, in the order of their keys, so that neighbours find their page in the processor's cache. A
    /// batch of sled's would make them visible at once, which is of no use (until all are in, readers find them in the memtable,
    /// and after a crash the journal gives them again), would take them in the order of a hash table, and would keep readers
    /// out for as long as it takes.
    ///
    /// `each_step` hears of each part that sled has, how many bytes it was.
    pub fn apply(
        &self,
        changes: &Changes,
        last: GroupNumber,
        each_step: impl Fn(usize),
    ) -> Result<(), EngineError> {
        let mut unsynced = 0;
        for (key, value) in changes {
            if unsynced > MAX_UNSYNCED_BYTES {
                self.sync()?;
                each_step(unsynced);
                unsynced = 0;
            }
            unsynced += size(key, value.as_ref());
            match value {
                Some(value) => self.tree.insert(key, value.as_slice()),
                None => self.tree.remove(key),
            }
            .map_err(failed)?;
        }
        // Written only after the sync, so that it is true after any power cut.
        self.sync()?;
        each_step(unsynced);
        self.tree
            .insert(APPLIED, &last.to_be_bytes())
            .map_err(failed)?;
        self.sync()
    }

    /// Returns once sled's log is on the disk.
    pub fn sync(&self) -> Result<(), EngineError> {
        // sled's own flush hands the log to the kernel and no further.
        self.db.flush().map_err(failed)?;
        self.log_file
            .sync_data()
            .map_err(|error| EngineError::Failed(format!("fdatasync: {}", explain(&error))))
    }
}

/// What a change takes, roughly.
pub fn size(key: &Key, value: Option<&Value>) -> usize {
    key.len() + value.map_or(0, Vec::len)
}
