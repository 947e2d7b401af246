//! All records of a store as lines of JSON: the content of a backup, and the way to another engine or format version.
//!
//! | Line | Holds |
//! |---|---|
//! | first | `{"tintype_export":1,"written_by":"tintype 0.1.0"}` |
//! | one per record, by ascending key | `{"kind":"account","key":"61...","record":{...}}`, the key in hexadecimal |
//! | last | `{"records":7,"sha256":"..."}`: the number of records, and the SHA-256 of all lines before this one |
//!
//! Every line ends with a line feed. Records have the current shape, whichever version stored them. A truncated file lacks its
//! last line and is refused. An export contains no time: equal records give equal bytes.

mod line;
mod load;
mod read;
mod write;

pub use line::MAX_LINE_BYTES;
pub use load::{LoadOutcome, load};
pub use read::{Entry, Reader, Summary};
pub use write::write;

use crate::engine::{EngineError, SnapshotError};
use crate::store::StoreError;

/// The version of the format, for writing and reading.
pub const VERSION: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The store cannot be read as of one point in time.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key belongs to no table of this version.
    #[error(
        "the store holds a record of an unknown kind, under the key {0}; a newer version wrote it"
    )]
    UnknownKind(String),
    /// The sink refuses further output.
    #[error("{0}")]
    Sink(E),
}

/// Why an export cannot be read or loaded.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the export cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The content is malformed or damaged.
    #[error("line {line} of the export: {reason}")]
    Line {
        /// From 1.
        line: u64,
        reason: String,
    },
    /// The target store is not empty.
    #[error("the store holds records already; an export can only be loaded into an empty one")]
    NotEmpty,
    #[error(transparent)]
    Engine(#[from] EngineError),
}
