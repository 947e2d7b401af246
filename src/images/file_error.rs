//! Errors of downloads from the local store.

use super::ImagesError;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// This server did not sign the URL, or the URL was changed.
    #[error("the address is not one that this server has signed")]
    InvalidSignature,
    /// The signature is valid.
    #[error("the address has expired; look the job up again for a new one")]
    UrlExpired,
    /// Also when the objects are in a cloud.
    #[error("there is no such file")]
    NotFound,
    /// Retention has deleted the result.
    #[error("the image was removed when its retention ended")]
    Gone,
    #[error("the range lies outside the file, which has {size} bytes")]
    RangeNotSatisfiable { size: u64 },
    /// The source is for the log, not for the caller.
    #[error("the file could not be read")]
    Storage(#[source] ImagesError),
}
