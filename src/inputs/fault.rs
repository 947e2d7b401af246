//! Errors of input images, separated by cause: caller, object store, memory.

use super::memory_budget::MemoryUnavailable;

/// The request field with the URLs; error messages name an entry `input_images_urls[2]`.
pub const FIELD: &str = "input_images_urls";

/// Why an ingestion failed. It leaves nothing in the object store, unless the log reports otherwise.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The caller's fault (`422`).
    #[error("input images were not accepted")]
    Invalid(InputFaults),
    /// The object store's fault (`502`).
    #[error("input images could not be stored: {0}")]
    Store(#[from] StoreFault),
    /// No memory became free in time (`503`).
    #[error(transparent)]
    MemoryUnavailable(#[from] MemoryUnavailable),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputFaults {
    /// Do the images exceed the total limit together?
    pub too_large: bool,
    /// Each faulty entry: its index and its message.
    pub entries: Vec<(usize, String)>,
}

impl InputFaults {
    pub fn too_large() -> Self {
        Self {
            too_large: true,
            entries: Vec::new(),
        }
    }

    /// The faults as text, as in the refusal of a single request. `mask` is the index of a mask.
    pub fn text(&self, max_total_bytes: u64, mask: Option<usize>) -> String {
        let too_large = self
            .too_large
            .then(|| format!("{FIELD} must not exceed {max_total_bytes} bytes over all images"));
        let entries = self.entries.iter();
        let entries = entries.map(|(at, message)| match mask == Some(*at) {
            true => format!("mask {message}"),
            false => format!("{FIELD}[{at}] {message}"),
        });
        let all: Vec<String> = too_large.into_iter().chain(entries).collect();
        all.join("; ")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    #[error("{0}")]
    Failed(#[from] object_store::Error),
    /// The deadline of the ingestion passed during a call to the store.
    #[error("the object store did not finish in time")]
    TimedOut,
}

/// Why an image was not stored.
#[derive(Debug, thiserror::Error)]
pub enum UploadFault {
    /// The caller's fault. The message completes a sentence that begins with the field's name.
    #[error("{0}")]
    Image(String),
    #[error("the object store: {0}")]
    Store(#[from] object_store::Error),
    #[error(transparent)]
    MemoryUnavailable(#[from] MemoryUnavailable),
}

#[derive(Debug)]
pub(super) enum Failure {
    /// The entry is faulty, for this reason.
    Entry(String),
    /// This entry exceeds the total limit.
    Total,
    Service(IngestError),
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Self::Service(StoreFault::Failed(error).into())
    }
}

impl From<UploadFault> for Failure {
    fn from(fault: UploadFault) -> Self {
        match fault {
            UploadFault::Image(message) => Self::Entry(message),
            UploadFault::Store(error) => error.into(),
            UploadFault::MemoryUnavailable(fault) => Self::Service(fault.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_faulty_image_is_named() {
        let faults = InputFaults {
            too_large: true,
            entries: vec![(2, "is not an image".into()), (0, "returned 404".into())],
        };
        assert_eq!(
            faults.text(9, None),
            "input_images_urls must not exceed 9 bytes over all images; \
             input_images_urls[2] is not an image; input_images_urls[0] returned 404"
        );
    }
}
