//! An engine stores bytes and decides nothing: no lease, no price, no clock.

use crate::domain::time::Timestamp;
use crate::histogram::Reading;
use crossbeam_channel::Receiver;
pub use holds::Holds;
pub use read::{Read, Wait};
pub use round::{Ask, Round, Seen, Verdict};
pub use snapshot::{Snapshot, SnapshotError};
use std::fmt;
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub mod deferred_wake;
mod holds;
mod read;
mod round;
pub mod sled;
pub mod snapshot;
pub mod wal;

/// A key: a prefix byte for the kind of record, then ids whose byte order is their order.
pub type Key = Vec<u8>;
/// An encoded record.
pub type Value = Vec<u8>;

/// The largest value that an engine takes. Past about 128 KiB sled would move it to a file that is never synced; the bound
/// leaves room for several in one tree node.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;

/// One atomic change, and what follows once it is durable.
pub struct Commit {
    /// Keys with their new values; `None` removes. A key stands at most once.
    pub writes: Vec<(Key, Option<Value>)>,
    /// Called exactly once, on the engine's thread: it must be quick and must not call the engine.
    pub done: Done,
}

/// Hears the outcome of a commit. `Ok` means that it survives a power cut.
pub type Done = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

/// Why an engine failed, or did not start.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// Another process has the directory.
    #[error(
        "the data directory {} is in use by another process; stop that one, or give this one another --data-dir",
        .0.display()
    )]
    Locked(PathBuf),
    /// The directory cannot be used.
    #[error("the data directory {}: {reason}", .path.display())]
    Directory {
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The directory was written by a version with another format.
    #[error(
        "the data directory has format {found:?}, this version reads {expected:?}; use the version that wrote it"
    )]
    Format {
        /// What stands there.
        found: String,
        /// What this version writes.
        expected: &'static str,
    },
    /// The database cannot be used.
    #[error("the database {url}: {reason}")]
    Database {
        /// Where it is, without its password.
        url: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A read or write failed. No later commit is durable.
    #[error("storage failed: {0}")]
    Failed(String),
    /// The engine stopped after an earlier failure, or was closed.
    #[error("storage has stopped")]
    Stopped,
    /// The decision of a round panicked. Nothing of it was written.
    #[error("a decision panicked")]
    Panicked,
    /// A value or a commit is larger than an engine may be given: a fault of the program.
    #[error("a record of {bytes} bytes is over the {MAX_VALUE_BYTES} that may be stored")]
    TooLarge { bytes: usize },
}

/// Called once, when an engine fails. The process is to end: the restart recovers.
pub type OnFailure = Arc<dyn Fn(&EngineError) + Send + Sync>;

/// A range of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    pub from: Bound<Key>,
    pub to: Bound<Key>,
}

impl KeyRange {
    /// Can it hold no key at all? An ordered map panics when it is asked for a range whose bounds are crossed.
    pub fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included, Unbounded};
        match (&self.from, &self.to) {
            (Unbounded, _) | (_, Unbounded) => false,
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
        }
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            from: Bound::Included(prefix.to_vec()),
            to: after_prefix(prefix),
        }
    }

    /// The part of the range above `key`, which is left out.
    pub fn above(self, key: Key) -> Self {
        Self {
            from: Bound::Excluded(key),
            ..self
        }
    }

    /// The part of the range from `key` on, which is within it.
    pub fn starting_at(self, key: Key) -> Self {
        Self {
            from: Bound::Included(key),
            ..self
        }
    }

    /// The part of the range below `key`, which is left out.
    pub fn below(self, key: Key) -> Self {
        Self {
            to: Bound::Excluded(key),
            ..self
        }
    }
}

fn after_prefix(prefix: &[u8]) -> Bound<Key> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Bound::Excluded(end);
        }
    }
    Bound::Unbounded
}

/// Which end of a range comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Rising,
    Falling,
}

/// Counts since an engine was opened. An engine without a disk leaves the later ones at zero.
#[derive(Clone, Debug, Default)]
pub struct EngineStats {
    /// Commits that are on the disk.
    pub commits: u64,
    /// Times that the disk was asked to make them durable: commits share one.
    pub syncs: u64,
    /// How long each of these times took, in microseconds.
    pub sync_times: Reading,
    /// How many commits shared one.
    pub commits_per_sync: Reading,
    /// Bytes of keys and values that are on the disk, later overwritten ones included.
    pub bytes: u64,
    /// Durable bytes that have yet to be written to their place for reading.
    pub backlog_bytes: u64,
}

/// Keeps keys and values in order.
///
/// Reads show only what is durable: a commit appears when its `done` is called, and not before, so a caller may be told what was
/// read. Commits become visible whole and in the order in which they were submitted; a scan that runs at that moment may miss
/// some of a commit's keys and find others.
pub trait Engine: Send + Sync {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Read<Option<Value>>;

    /// The values of many keys, in their order. An engine that fetches its answers does so once.
    fn get_many(&self, keys: &[Key]) -> Read<Vec<Option<Value>>> {
        let values = keys.iter().map(|key| self.get(key).wait());
        values.collect::<Result<_, _>>().into()
    }

    /// Up to `limit` pairs of a range, in order.
    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize)
    -> Read<Vec<(Key, Value)>>;

    /// How many keys there are in a range.
    fn count(&self, range: &KeyRange) -> Read<usize> {
        let all = self.scan(range, Direction::Rising, usize::MAX).wait();
        all.map(|pairs| pairs.len()).into()
    }

    /// Holds keys, reads, decides and commits; see [`Round`]. Failures go to the round's `done`. A round that
    /// holds what another one holds waits for that one's end. An engine whose process is the only writer uses [`Holds`].
    fn round(self: Arc<Self>, round: Box<dyn Round>);

    /// Queues a commit. Never blocks and never fails by itself: `done` hears of both.
    fn submit(&self, commit: Commit);

    /// All that is durable at this moment, to be read while others go on writing. One at a time.
    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError>;

    /// Figures since opening.
    fn stats(&self) -> EngineStats;

    /// What the clock of the database shows; `None` for an engine that is no database. Machines that share one take their time from it.
    fn time(&self) -> Read<Option<Timestamp>> {
        Ok(None).into()
    }

    /// For how long the database has not answered; `None` where it does, and for an engine that is no database. Reads and commits
    /// wait meanwhile.
    fn outage(&self) -> Option<Duration> {
        None
    }

    /// Waits until the engine has caught up so far that the commits of bulk work do not make those of others wait. An engine that has
    /// failed lets it go on: its commit says so.
    fn room_for_bulk(&self) -> Read<()> {
        Ok(()).into()
    }

    /// Writes what was submitted, then stops: later commits hear `Stopped`. Returns once all is on the disk.
    fn close(&self);
}

/// Submits a change and waits for it. For start-up, tools and tests: it blocks the thread.
pub fn commit_and_wait(
    engine: &dyn Engine,
    writes: Vec<(Key, Option<Value>)>,
) -> Result<(), EngineError> {
    submit_waiting(engine, writes)
        .recv()
        .unwrap_or(Err(EngineError::Stopped))
}

/// Submits a change and returns where its outcome will arrive.
pub fn submit_waiting(
    engine: &dyn Engine,
    writes: Vec<(Key, Option<Value>)>,
) -> Receiver<Result<(), EngineError>> {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    // The send fails only when the caller no longer waits.
    let done = Box::new(move |outcome| drop(sender.send(outcome)));
    engine.submit(Commit { writes, done });
    receiver
}

/// The first value that is too large, if one is.
pub fn oversized(writes: &[(Key, Option<Value>)]) -> Option<EngineError> {
    let bytes = writes
        .iter()
        .filter_map(|(_, value)| value.as_ref())
        .map(Vec::len)
        .find(|bytes| *bytes > MAX_VALUE_BYTES)?;
    Some(EngineError::TooLarge { bytes })
}
