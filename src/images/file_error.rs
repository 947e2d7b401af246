//! Why a download from the local store is refused.

use super::ImagesError;

/// Why a download is refused.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The address was not written by this server, or was changed since.
    #[error("the address is not one that this server has signed")]
    InvalidSignature,
    /// The address was genuine and its time is over.
    #[error("the address has expired; look the job up again for a new one")]
    UrlExpired,
    /// There is no such file, or this server's files are elsewhere.
    #[error("there is no such file")]
    NotFound,
    /// The result of a job, removed when its retention ended.
    #[error("the picture was removed when its retention ended")]
    Gone,
    /// The one asked-for range lies outside the file.
    #[error("the range lies outside the file, which has {size} bytes")]
    RangeNotSatisfiable {
        /// The file's size in bytes.
        size: u64,
    },
    /// The store failed; the details are for the log, not for the caller.
    #[error("the file could not be read")]
    Storage(#[source] ImagesError),
}
