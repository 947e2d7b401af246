//! A point-in-time read of the whole store, while commits go on.

use super::{EngineError, Key, Value};

/// All pairs that were durable when it was taken. Dropping it frees the old values that were kept for it.
pub trait Snapshot: Send {
    /// The next pairs in rising order of their keys, `limit` (which is not 0) at the most; none at the end.
    ///
    /// # Errors
    /// See [`SnapshotError`]. The pairs that were read before are not a whole.
    fn next(&mut self, limit: usize) -> Result<Vec<(Key, Value)>, SnapshotError>;
}

/// Why a snapshot cannot be taken, or not be read to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another one is being read.
    #[error("the records are being read by another backup or export; wait for its end")]
    UnderWay,
    /// More values have changed since than can be kept.
    #[error(
        "the records changed faster than they were read, and over {} MiB had to be put aside; read them faster, or when there is less to do",
        .0 >> 20
    )]
    Overrun(usize),
    /// This engine takes no snapshots.
    #[error("this store cannot be read as of one moment")]
    Unable,
    #[error(transparent)]
    Engine(#[from] EngineError),
}
