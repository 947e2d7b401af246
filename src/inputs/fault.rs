//! Why input images are not taken, apart by whose fault it is.

use super::memory_budget::MemoryUnavailable;
use std::fmt;

/// The field of a request that names the images; a single entry is `input_images_urls[2]`.
pub const FIELD: &str = "input_images_urls";

/// Why an ingestion failed. Nothing of it is left in the object store, unless the log says so.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The caller's doing: each faulty field with what is wrong with it (`422`).
    #[error("input images were not taken: {0}")]
    Invalid(InputFaults),
    /// The object store's doing (`502`).
    #[error("input images could not be stored: {0}")]
    Store(#[from] StoreFault),
    /// There was no memory for them in time (`503`).
    #[error(transparent)]
    MemoryUnavailable(#[from] MemoryUnavailable),
}

/// What is wrong with the images of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFaults {
    /// They are too large together.
    pub too_large: bool,
    /// Each faulty entry by its index, with what is wrong with it.
    pub entries: Vec<(usize, String)>,
}

impl InputFaults {
    /// The images are too large together.
    pub fn too_large() -> Self {
        Self {
            too_large: true,
            entries: Vec::new(),
        }
    }
}

impl fmt::Display for InputFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.iter();
        let mut lines: Vec<String> = entries
            .map(|(at, message)| format!("{FIELD}[{at}] {message}"))
            .collect();
        if self.too_large {
            lines.insert(0, "they are too large together".to_owned());
        }
        f.write_str(&lines.join("; "))
    }
}

/// What the object store did wrong.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// It answered with an error.
    #[error("{0}")]
    Failed(#[from] object_store::Error),
    /// It was still at work when the time for the whole ingestion was up.
    #[error("the object store did not finish in time")]
    TimedOut,
}

/// How one entry failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// This entry is not to be had, for the reason given.
    Entry(String),
    /// With this entry the total is over the limit.
    Total,
    Store(object_store::Error),
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Self::Store(error)
    }
}
