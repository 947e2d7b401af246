//! All records of a store as lines of JSON: what a backup keeps of them, the way to another engine, and the way across format
//! versions.
//!
//! | Line | Holds |
//! |---|---|
//! | first | `{"tintype_export":1,"written_by":"tintype 0.1.0"}` |
//! | one for each record, by rising key | `{"kind":"account","key":"61...","record":{...}}`, the key in hexadecimal |
//! | last | `{"records":7,"sha256":"..."}`: how many there are, and the SHA-256 of all lines before this one |
//!
//! Every line ends with a line feed. A record has the shape of this version, whichever version stored it. A file that was cut
//! off lacks its last line, and is refused. An export contains no time: the same records give the same bytes.

mod line;
mod load;
mod read;
mod write;

pub use line::MAX_LINE_BYTES;
pub use load::{Loaded, load};
pub use read::{Entry, Reader, Summary};
pub use write::write;

use crate::engine::{EngineError, SnapshotError};
use crate::store::StoreError;

/// The version of the format that is written, and the one that is read.
pub const VERSION: u32 = 1;

/// Why an export cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The store cannot be read as of one moment.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A key is none that this version knows.
    #[error(
        "the store holds a record of an unknown kind, under the key {0}; a newer version wrote it"
    )]
    UnknownKind(String),
    /// What is written cannot be taken any more.
    #[error("{0}")]
    Sink(E),
}

/// Why an export cannot be read, or not be taken into a store.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It could not be read at all.
    #[error("the export cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is not what was written.
    #[error("line {line} of the export: {reason}")]
    Line {
        /// The first line is 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The store that it is to be taken into holds something.
    #[error("the store holds records already; an export is only taken into an empty one")]
    NotEmpty,
    #[error(transparent)]
    Engine(#[from] EngineError),
}
