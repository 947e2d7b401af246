//! A reading of the whole store as it was at one moment, while others go on writing to it.

use super::{EngineError, Key, Value};

/// All pairs that were on the disk when it was taken. Dropping it lets go of what was put aside for it.
pub trait Snapshot: Send {
    /// The next pairs in rising order of their keys, `limit` (which is not 0) at the most; none at the end.
    ///
    /// # Errors
    /// See [`SnapshotError`]. What was read until then is part of no whole.
    fn next(&mut self, limit: usize) -> Result<Vec<(Key, Value)>, SnapshotError>;
}

/// Why a cut cannot be taken, or not be read to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another one is being read.
    #[error("the records are being read by another backup or export; wait for its end")]
    UnderWay,
    /// More has changed meanwhile than can be put aside.
    #[error(
        "the records changed faster than they were read, and over {} MiB had to be put aside; read them faster, or when there is less to do",
        .0 >> 20
    )]
    Overrun(usize),
    /// This kind of engine takes none.
    #[error("this store cannot be read as of one moment")]
    Unable,
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
