//! The port of an input fetcher, which fetches the input images of batches.

use super::failure::PortFuture;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::job::{InputImage, Job};

/// The input images of a job, in the object store.
#[derive(Clone, Debug)]
pub struct FetchedInputs {
    pub inputs: Vec<InputImage>,
    /// The ratio of the result, which may be that of the first input image.
    pub ratio: AspectRatio,
}

/// Fetches the input images of a job whose turn has come.
pub trait InputFetcher: Send + Sync {
    /// Fetches the images into the object store. Leaves nothing there if it fails or its future is dropped.
    ///
    /// The fetch is repeated after a failure that may pass, such as [`GenerateError::Storage`](super::GenerateError::Storage).
    /// Invalid images are [`GenerateError::Refused`](super::GenerateError::Refused), with the same text as a refused call.
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs>;
}
