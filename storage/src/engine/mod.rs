//! The storage engine interface: engines store bytes and know no records, prices or time.

use crate::domain::time::Timestamp;
pub use counters::{EngineCounters, EngineStats};
use crossbeam_channel::Receiver;
pub use failure::{Failure, Latch, OpensLatch};
pub use holds::Holds;
pub use read::{Read, Wait};
pub use round::{ReadRequest, ReadResults, Round, RoundStep};
pub use scratch_dir::ScratchDir;
pub use snapshot::{Snapshot, SnapshotError};
use std::fmt;
use std::ops::{Bound, RangeBounds as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

mod counters;
pub mod deferred_wake;
mod failure;
mod holds;
mod read;
mod round;
mod scratch_dir;
pub mod sled;
pub mod snapshot;
pub mod wal;

/// A prefix byte for the kind of record, then ids whose byte order is their order.
pub type Key = Vec<u8>;
pub type Value = Vec<u8>;

/// One change: a key with its new value, or `None` to delete it.
pub type Write = (Key, Option<Value>);
/// The changes of one commit. Keys are unique.
pub type Writes = Vec<Write>;
/// The result of a scan.
pub type Pairs = Vec<(Key, Value)>;

/// The largest value that an engine accepts.
pub const MAX_VALUE_BYTES: usize = 16 * 1024;

/// Modules whose log lines below the level `info` contain stored values: those of sled and of the driver of PostgreSQL.
pub const LOGS_VALUES: [&str; 2] = ["sled", "tokio_postgres"];

/// One atomic change and its completion callback.
pub struct Commit {
    pub writes: Writes,
    /// Called exactly once, on the engine's thread: it must be quick and must not call the engine.
    pub done: CommitCallback,
}

/// Receives the outcome of a commit. `Ok` means that the commit survives a power cut.
pub type CommitCallback = Box<dyn FnOnce(Result<(), EngineError>) + Send>;

impl Commit {
    /// The bytes of its keys and values.
    pub fn bytes(&self) -> usize {
        writes_size(&self.writes)
    }
}

/// The bytes of the keys and values of writes.
pub fn writes_size(writes: &[Write]) -> usize {
    let sizes = writes.iter();
    sizes
        .map(|(key, value)| write_size(key, value.as_ref()))
        .sum()
}

/// The bytes of a key and its value.
pub fn write_size(key: &[u8], value: Option<&Value>) -> usize {
    key.len() + value.map_or(0, Vec::len)
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    #[error(
        "the data directory {} is in use by another process; stop it, or give this one another --data-dir",
        .0.display()
    )]
    Locked(PathBuf),
    #[error("the data directory {}: {reason}", .path.display())]
    Directory {
        path: PathBuf,
        /// What is wrong, and what to do.
        reason: String,
    },
    #[error(
        "the data directory has format {found:?}, this version reads {expected:?}; use the version that wrote it, or export the records \
         with that version (`tintype export`) and import them with this one (`tintype import`) into an empty data directory"
    )]
    Format {
        found: String,
        expected: &'static str,
    },
    #[error("the database {url}: {reason}")]
    Database {
        /// Without the password.
        url: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A read or write failed. No later commit is durable.
    #[error("storage failed: {0}")]
    Failed(String),
    /// The engine stopped after an earlier failure, or was closed.
    #[error("storage has stopped")]
    Stopped,
    /// Another node has fenced this one. Its writes have no effect any more.
    #[error(
        "another node has taken over from this one, because this one sent no heartbeat for too long; start it again. If this recurs, look \
         for pauses of its machine or its network, or raise `dead_after_seconds` in [cluster]"
    )]
    Fenced,
    /// The decision of a round panicked. The round wrote nothing.
    #[error("a decision panicked")]
    Panicked,
    /// A value or a commit exceeds the engine's limit: a bug.
    #[error("a record of {bytes} bytes exceeds the limit of {MAX_VALUE_BYTES} bytes")]
    TooLarge { bytes: usize },
}

impl EngineError {
    /// A panic ended a thread of the engine.
    pub fn panicked() -> Self {
        Self::Failed("the storage thread panicked".into())
    }

    /// `reason` says what is wrong, and what to do.
    pub(crate) fn directory(path: &Path, reason: impl Into<String>) -> Self {
        Self::Directory {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

/// Called once, when an engine fails. The process must end; the restart recovers.
pub type OnFailure = Arc<dyn Fn(&EngineError) + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    pub from: Bound<Key>,
    pub to: Bound<Key>,
}

impl KeyRange {
    /// An ordered map panics on a range with crossed bounds.
    pub fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included, Unbounded};
        match (&self.from, &self.to) {
            (Unbounded, _) | (_, Unbounded) => false,
            (Included(from), Included(to)) => from > to,
            (Included(from) | Excluded(from), Included(to) | Excluded(to)) => from >= to,
        }
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        let bounds = (
            self.from.as_ref().map(Vec::as_slice),
            self.to.as_ref().map(Vec::as_slice),
        );
        bounds.contains(key)
    }

    /// All keys that begin with `prefix`.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self {
            from: Bound::Included(prefix.to_vec()),
            to: after_prefix(prefix),
        }
    }

    /// `key` is exclusive.
    pub fn above(self, key: Key) -> Self {
        Self {
            from: Bound::Excluded(key),
            ..self
        }
    }

    /// Continues after a cursor: the last key read, or empty at the start.
    pub fn after_cursor(self, cursor: &[u8]) -> Self {
        match cursor {
            [] => self,
            key => self.above(key.to_vec()),
        }
    }

    /// `key`, inclusive, must be within the range.
    pub fn starting_at(self, key: Key) -> Self {
        Self {
            from: Bound::Included(key),
            ..self
        }
    }

    /// `key` is exclusive.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Rising,
    Falling,
}

/// A look at the transactions of a database. Their numbers rise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionNumbers {
    /// Every transaction with a smaller number has ended. Only transactions that lock or change records have numbers.
    pub oldest: i64,
    /// The number of this look. Transactions in progress have smaller numbers.
    pub newest: i64,
}

/// Stores keys and values in order.
///
/// Reads show only durable data: a commit becomes visible when its `done` is called, not before, so callers may be shown what
/// was read. Commits become visible in the order of submission. `get` never sees a part of a commit; a concurrent scan may see
/// some keys of a commit and miss others.
pub trait Engine: Send + Sync {
    fn get(&self, key: &[u8]) -> Read<Option<Value>>;

    /// The values of `keys`, in their order. A remote engine reads them in one round trip.
    fn get_many(&self, keys: &[Key]) -> Read<Vec<Option<Value>>> {
        let values = keys.iter().map(|key| self.get(key).wait());
        values.collect::<Result<_, _>>().into()
    }

    /// Up to `limit` pairs of a range, in order.
    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize) -> Read<Pairs>;

    /// The number of keys in a range.
    fn count(&self, range: &KeyRange) -> Read<usize> {
        let all = self.scan(range, Direction::Rising, usize::MAX).wait();
        all.map(|pairs| pairs.len()).into()
    }

    /// Locks keys, reads, decides and commits; see [`Round`]. The round's `done` receives failures. Rounds with a common key
    /// run one after another. An engine whose process is the only writer uses [`Holds`].
    fn round(self: Arc<Self>, round: Box<dyn Round>);

    /// Queues a commit. Never blocks; the commit's `done` receives every failure.
    fn submit(&self, commit: Commit);

    /// A point-in-time view of all durable data while commits continue. One snapshot at a time.
    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError>;

    /// Counters since opening.
    fn stats(&self) -> EngineStats;

    /// The database's clock; `None` for an engine without a database. Nodes that share a database use its time.
    fn time(&self) -> Read<Option<Timestamp>> {
        Ok(None).into()
    }

    /// The transactions of the database; `None` for an engine without a database, and for a database that does not number them.
    fn transactions(&self) -> Read<Option<TransactionNumbers>> {
        Ok(None).into()
    }

    /// How long the database has been unreachable; `None` if it is reachable, and for an engine without a database. Reads and
    /// commits wait meanwhile.
    fn outage(&self) -> Option<Duration> {
        None
    }

    /// As [`Engine::outage`], also if the database answers reads but no commits.
    fn write_outage(&self) -> Option<Duration> {
        self.outage()
    }

    /// Waits until the backlog is small enough that bulk commits do not delay others. Returns after a failure as well: the next
    /// commit reports it.
    fn room_for_bulk(&self) -> Read<()> {
        Ok(()).into()
    }

    /// Writes the queued commits and stops; later commits get `Stopped`. Returns when everything is durable.
    fn close(&self);
}

/// Commits and waits. Blocks the thread: for start-up, tools and tests.
pub fn commit_and_wait(engine: &dyn Engine, writes: Writes) -> Result<(), EngineError> {
    submit_waiting(engine, writes)
        .recv()
        .unwrap_or(Err(EngineError::Stopped))
}

/// Submits a change and returns the receiver of its outcome.
pub fn submit_waiting(engine: &dyn Engine, writes: Writes) -> Receiver<Result<(), EngineError>> {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    // Sending fails only if the caller no longer waits.
    let done = Box::new(move |outcome| drop(sender.send(outcome)));
    engine.submit(Commit { writes, done });
    receiver
}

/// The error for the first value that is too large.
pub fn oversized(writes: &[Write]) -> Option<EngineError> {
    let bytes = writes
        .iter()
        .filter_map(|(_, value)| value.as_ref())
        .map(Vec::len)
        .find(|bytes| *bytes > MAX_VALUE_BYTES)?;
    Some(EngineError::TooLarge { bytes })
}

/// Calls the callback of a commit or round.
///
/// # Errors
/// It has panicked, which is a bug: the engine answers the other callers and then ends.
pub fn call_back(callback: impl FnOnce()) -> Result<(), EngineError> {
    catch_unwind(AssertUnwindSafe(callback))
        .map_err(|_| EngineError::Failed("the callback of a commit panicked".into()))
}
