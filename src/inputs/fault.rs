//! Why input images are not taken, apart by whose fault it is.

/// The field of a request that names the images; a single entry is `input_images_urls[2]`.
pub const FIELD: &str = "input_images_urls";

/// Why an ingestion failed. Nothing of it is left in the object store, unless the log says so.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The caller's doing: each faulty field with what is wrong with it (`422`).
    #[error("input images were not taken: {}", list(.0))]
    Invalid(Vec<(String, String)>),
    /// The object store's doing (`502`).
    #[error("input images could not be stored: {0}")]
    Store(#[from] StoreFault),
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

fn list(faults: &[(String, String)]) -> String {
    let lines: Vec<_> = faults
        .iter()
        .map(|(field, message)| format!("{field} {message}"))
        .collect();
    lines.join("; ")
}

/// The name of one entry.
pub(super) fn entry(index: usize) -> String {
    format!("{FIELD}[{index}]")
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
