//! The port of the image store.

use super::failure::GenerateError;
use super::generator::GeneratedImage;
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::job::{Job, PromptText, ResultImage};

/// Stores images, and reads prompts that are too large for a record.
pub trait ImageStore: Send + Sync {
    /// Checks an image, crops it to the job's aspect ratio if it has another, and stores it durably as the result of the job.
    ///
    /// An image that fails the check is the backend's fault, and another backend may do better. The store returns
    /// [`GenerateError::Storage`] only after it has retried for a while, because the image may have cost money.
    fn keep(
        &self,
        job: &Job,
        image: GeneratedImage,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>>;

    fn read_prompt(
        &self,
        key: String,
    ) -> LocalBoxFuture<'static, Result<PromptText, GenerateError>>;

    /// Deletes the input images of an ended job. Its prompt stays, because its event needs it.
    fn forget_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()>;
}
