//! A point-in-time read of the whole store while commits continue.

use super::{EngineError, Pairs};

/// All pairs that were durable when the snapshot was taken. Dropping it frees the old values kept for it.
pub trait Snapshot: Send {
    /// Up to `limit` pairs (`limit` is not 0) in ascending order; none at the end.
    ///
    /// # Errors
    /// See [`SnapshotError`]. The pairs read before are incomplete.
    fn next(&mut self, limit: usize) -> Result<Pairs, SnapshotError>;
}

/// Why a snapshot cannot be taken or read to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Another snapshot is being read.
    #[error("the records are being read by another backup or export; wait for its end")]
    UnderWay,
    /// More old values would have to be kept than the limit allows.
    #[error(
        "the records changed faster than they were read, and their old values exceed {} MiB; read faster, or when fewer records change",
        .0 >> 20
    )]
    Overrun(usize),
    #[error("this store does not support snapshots")]
    Unable,
    #[error(transparent)]
    Engine(#[from] EngineError),
}
