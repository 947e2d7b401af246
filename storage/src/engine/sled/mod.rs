//! sled 0.34.7 as an engine: one tree, one committer thread, one batch and one fdatasync for all commits that wait.
//!
//! sled's own `flush` hands the log to the kernel but does not make it durable, so every batch is followed by `sync_data`
//! on a descriptor of our own. `flush_async` is never used (it can deadlock in this version), nor are sled's
//! transactions (one process-wide lock, and closures that may run twice).

mod committer;
mod failure;
mod in_flight;
mod open;
mod watchdog;

use super::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, OnFailure, Value, oversized,
};
use committer::Committer;
use in_flight::InFlight;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How an engine is opened.
#[derive(Clone)]
pub struct SledOptions {
    /// Memory for sled's page cache, in bytes. sled takes several times as much at a peak.
    pub cache_bytes: u64,
    /// A commit that takes longer counts as a failure of the disk. It is answered if it comes back; all others are refused.
    pub commit_timeout: Duration,
    /// How long to wait for another process to let go of the directory.
    pub lock_timeout: Duration,
    /// Called once, on the first failure.
    pub on_failure: OnFailure,
}

impl SledOptions {
    /// 64 MiB of cache, 5 s for a commit, 10 s for the lock.
    pub fn new(on_failure: OnFailure) -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            commit_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(10),
            on_failure,
        }
    }
}

/// Makes what sled has handed to the kernel durable: returns once it would survive a power cut.
pub type SyncStep = Box<dyn Fn(&File) -> io::Result<()> + Send>;

/// An engine on a directory of its own.
pub struct SledEngine {
    tree: ::sled::Tree,
    in_flight: Arc<InFlight>,
    committer: Committer,
}

impl SledEngine {
    /// Opens or makes the directory. Blocks for as long as sled reads its log.
    pub fn open(directory: &Path, options: SledOptions) -> Result<Self, EngineError> {
        Self::open_with_sync(directory, options, Box::new(File::sync_data))
    }

    /// As [`SledEngine::open`], with another way to sync: for tests of what holds while the disk is slow, or fails.
    pub fn open_with_sync(
        directory: &Path,
        options: SledOptions,
        sync: SyncStep,
    ) -> Result<Self, EngineError> {
        let opened = open::open(directory, &options)?;
        let tree = opened.tree.clone();
        let in_flight = Arc::new(InFlight::default());
        let committer = Committer::start(opened, Arc::clone(&in_flight), &options, sync)?;
        Ok(Self {
            tree,
            in_flight,
            committer,
        })
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Value>, EngineError> {
        let stored = self.tree.get(key).map_err(failed)?;
        Ok(self.in_flight.durable(key, stored.as_deref()))
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, EngineError> {
        let pairs = self
            .tree
            .range::<Key, _>((range.from.clone(), range.to.clone()));
        match direction {
            Direction::Rising => self.in_flight.durable_scan(pairs, range, direction, limit),
            Direction::Falling => self
                .in_flight
                .durable_scan(pairs.rev(), range, direction, limit),
        }
    }

    fn submit(&self, commit: Commit) {
        match oversized(&commit) {
            Some(error) => (commit.done)(Err(error)),
            None => self.committer.submit(commit),
        }
    }

    fn stats(&self) -> EngineStats {
        self.committer.stats()
    }

    fn close(&self) {
        self.committer.close();
    }
}

impl Drop for SledEngine {
    fn drop(&mut self) {
        self.close();
    }
}

fn failed(error: ::sled::Error) -> EngineError {
    EngineError::Failed(error.to_string())
}
