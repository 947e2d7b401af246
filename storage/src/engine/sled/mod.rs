//! An engine: sled 0.34.7 with a journal in front of it.
//!
//! A commit is durable when it is in the journal: one group, one write to allocated blocks and one fdatasync for all waiting
//! commits. The flusher writes the changes to sled afterwards. sled alone would be too slow: each of its flushes waits for the
//! disk twice, and still lacks the fdatasync. Where sled's log is damaged, sled silently drops the rest; the journal restores
//! the end of the log and reveals damage that it cannot restore.
//!
//! `flush_async` is never used (it can deadlock in this version), nor are sled's transactions (one process-wide lock, and
//! closures that may run twice).

mod backlog;
mod blocks;
mod committer;
mod flusher;
mod format;
mod io_advice;
mod memtable;
mod open;
mod scratch_copy;
mod sled_tree;
mod snapshot;
mod watchdog;

use super::snapshot::{Snapshot, SnapshotError};
use super::wal::Layout;
use super::{
    Commit, Direction, Engine, EngineCounters, EngineError, EngineStats, Failure, Holds, KeyRange,
    OnFailure, Pairs, Read, Round, Value, oversized,
};
use backlog::Backlog;
pub use backlog::FlushPolicy;
use blocks::{BlockTree, ReadError};
use committer::Committer;
use flusher::Flusher;
pub use format::LOG as LOCK_FILE;
use format::checkpoint::Checkpoints;
use io_advice::with_advice;
use memtable::{Memtable, Merge};
use open::OpenedStore;
use scratch_copy::ScratchCopy;
use snapshot::{SledSnapshot, Snapshots};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The key in sled's tree for the last applied group of the journal. Blocks begin with another byte.
const APPLIED: &[u8] = b"\0applied";
/// The delay between attempts to lock the directory.
const LOCK_RETRY: Duration = Duration::from_millis(100);
/// A read meets a replaced large value once, or again if the memtable is flushed meanwhile.
const READ_ATTEMPTS: usize = 100;

#[derive(Clone)]
pub struct SledOptions {
    /// Memory for sled's page cache, in bytes. sled takes several times as much at a peak.
    pub cache_bytes: u64,
    /// A slower commit counts as a disk failure. It is still answered if it returns; all others are refused.
    pub commit_timeout: Duration,
    /// How long to wait until another process releases the directory.
    pub lock_timeout: Duration,
    /// The layout of the journal's files.
    pub wal: Layout,
    pub flush: FlushPolicy,
    /// The least growth of sled's log, in bytes, before its checkpoint is advanced. A start reads this much log.
    pub checkpoint_after: u64,
    /// Called once, on the first failure.
    pub on_failure: OnFailure,
}

impl SledOptions {
    /// 64 MiB of cache, 5 s for a commit, 10 s for the lock, 128 MiB of log between checkpoints.
    pub fn new(on_failure: OnFailure) -> Self {
        Self {
            cache_bytes: 64 * 1024 * 1024,
            commit_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(10),
            wal: Layout::default(),
            flush: FlushPolicy::default(),
            checkpoint_after: 128 << 20,
            on_failure,
        }
    }
}

/// Syncs a file of the journal: returns when its content would survive a power cut.
pub type SyncStep = Box<dyn Fn(&File) -> io::Result<()> + Send>;

/// The state that the readers, the committer and the flusher share.
struct EngineState {
    memtable: Memtable,
    snapshots: Snapshots,
    backlog: Backlog,
    failure: Failure,
    counters: EngineCounters,
}

pub struct SledEngine {
    /// `None` only during the drop.
    blocks: Option<Arc<BlockTree>>,
    state: Arc<EngineState>,
    committer: Committer,
    flusher: Flusher,
    holds: Arc<Holds>,
    /// The copy behind a read-only engine, deleted when the engine is dropped.
    scratch_copy: Option<ScratchCopy>,
}

impl SledEngine {
    /// Opens a copy of a directory and locks the original meanwhile. The original and the owners of its files do not change;
    /// commits are lost with the copy. The copy is in the system's directory for temporary files and needs as much space as the
    /// store.
    pub fn open_read_only(directory: &Path, options: SledOptions) -> Result<Self, EngineError> {
        let scratch_copy = ScratchCopy::at(directory, options.lock_timeout)?;
        let mut engine = Self::open(scratch_copy.path(), options)
            .map_err(|error| scratch_copy::of_original(error, scratch_copy.path(), directory))?;
        engine.scratch_copy = Some(scratch_copy);
        Ok(engine)
    }

    /// Opens or creates the directory. Blocks while sled reads its log.
    pub fn open(directory: &Path, options: SledOptions) -> Result<Self, EngineError> {
        Self::open_with_sync(directory, options, Box::new(File::sync_data))
    }

    /// Like [`SledEngine::open`], with a replaceable sync of the journal: for tests with a slow or failing disk.
    pub fn open_with_sync(
        directory: &Path,
        options: SledOptions,
        sync: SyncStep,
    ) -> Result<Self, EngineError> {
        let OpenedStore {
            sled,
            wal,
            segments,
        } = {
            let (directory, options) = (directory.to_owned(), options.clone());
            // A short commit timeout must not fail a first start, which creates directories and files.
            let limit = options.commit_timeout.max(watchdog::SHORTEST_LIMIT);
            watchdog::run_watched(limit, move |steps| open::open(&directory, &options, steps))?
        };
        let blocks = Arc::clone(&sled.blocks);
        let checkpoints = Checkpoints::new(directory.to_owned(), options.checkpoint_after, &sled);
        let state = Arc::new(EngineState {
            memtable: Memtable::default(),
            snapshots: Snapshots::default(),
            backlog: Backlog::new(options.flush),
            failure: Failure::new(options.on_failure),
            counters: EngineCounters::default(),
        });
        let limit = options.commit_timeout;
        Ok(Self {
            blocks: Some(blocks),
            flusher: Flusher::start(Arc::clone(&state), sled, segments, checkpoints, limit)?,
            committer: Committer::start(Arc::clone(&state), wal, sync, limit)?,
            state,
            holds: Arc::default(),
            scratch_copy: None,
        })
    }

    /// Reads the memtable and sled. sled panics on some damage instead of returning an error; either is a failure of the engine.
    fn read<T>(&self, ask: impl Fn(&BlockTree) -> Result<T, ReadError>) -> Result<T, EngineError> {
        let Some(blocks) = &self.blocks else {
            return Err(EngineError::Stopped);
        };
        let mut outcome = Err(ReadError::Replaced);
        for _ in 0..READ_ATTEMPTS {
            outcome = catch_unwind(AssertUnwindSafe(|| ask(blocks)))
                .unwrap_or_else(|_| Err(damaged().into()));
            if !matches!(outcome, Err(ReadError::Replaced)) {
                break;
            }
        }
        let outcome = outcome.map_err(|error| match error {
            ReadError::Failed(error) => error,
            ReadError::Replaced => damaged(),
        });
        if let Err(error) = &outcome {
            self.state.failure.report(error);
        }
        outcome
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        // Read the memtable before sled.
        self.read(|blocks| match self.state.memtable.get(key) {
            Some(known) => Ok(known),
            None => blocks.get(key),
        })
        .into()
    }

    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize) -> Read<Pairs> {
        if range.is_empty() {
            return Ok(Vec::new()).into();
        }
        self.read(|blocks| {
            let changes = self.state.memtable.within(range, direction, limit);
            let mut merge = Merge::new(changes, direction, limit);
            blocks.scan(range, direction, |key, value| {
                merge.add(key, |key| blocks.value(key, value))
            })?;
            Ok(merge.finish())
        })
        .into()
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        let holds = Arc::clone(&self.holds);
        holds.run(self, round);
    }

    fn submit(&self, commit: Commit) {
        match oversized(&commit.writes) {
            Some(error) => (commit.done)(Err(error)),
            None => self.committer.submit(commit),
        }
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        let blocks = self.blocks.clone().ok_or(EngineError::Stopped)?;
        self.state.snapshots.begin(blocks)?;
        Ok(Box::new(SledSnapshot::new(self)))
    }

    fn stats(&self) -> EngineStats {
        EngineStats {
            backlog_bytes: self.state.backlog.bytes() as u64,
            ..self.state.counters.read()
        }
    }

    fn room_for_bulk(&self) -> Read<()> {
        let state = Arc::clone(&self.state);
        Read::Pending(Box::pin(async move {
            state.backlog.room_for_bulk().await;
            Ok(())
        }))
    }

    fn close(&self) {
        self.committer.close();
        self.flusher.close();
    }
}

impl Drop for SledEngine {
    fn drop(&mut self) {
        self.close();
        // Dropping the last handle makes sled sync its log, which panics on a failing disk and waits forever on a hanging one.
        // Every answered commit is in the journal, so neither loses data.
        let blocks = self.blocks.take();
        let close = move |_: &watchdog::Steps| {
            drop(blocks);
            Ok(())
        };
        if watchdog::run_watched(watchdog::SHORTEST_LIMIT, close).is_err() {
            tracing::warn!("could not sync the store while closing it; the next start repairs it");
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, EngineError> {
    let thread = std::thread::Builder::new().name(name.into());
    thread
        .spawn(run)
        .map_err(|error| EngineError::Failed(format!("could not start the {name} thread: {error}")))
}

fn damaged() -> EngineError {
    EngineError::Failed("a record cannot be read: the store is damaged; restore a backup".into())
}

fn failed(error: ::sled::Error) -> EngineError {
    EngineError::Failed(match &error {
        ::sled::Error::Io(error) => with_advice(error),
        ::sled::Error::Corruption { at, .. } => {
            let place = at.map_or(String::new(), |at| format!(" at byte {}", at.lid()));
            format!("its log is damaged{place}: a record cannot be read; restore a backup")
        }
        other => other.to_string(),
    })
}
