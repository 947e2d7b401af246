//! The port of an input fetcher, which fetches the input images of batches.

use super::failure::GenerateError;
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::job::{InputImage, Job};

/// The input images of a job, in the object store.
#[derive(Clone, Debug)]
pub struct FetchedInputs {
    pub inputs: Vec<InputImage>,
    /// The shape to make, which may be that of the first image.
    pub ratio: AspectRatio,
}

/// Fetches the input images of a job whose turn has come.
pub trait InputFetcher: Send + Sync {
    /// Fetches them into the object store. Where it fails, or is dropped on the way, nothing stays there.
    ///
    /// What is wrong with the images is [`GenerateError::Refused`], with the text that a call with these images is refused with.
    fn fetch(&self, job: &Job) -> LocalBoxFuture<'static, Result<FetchedInputs, GenerateError>>;
}
