//! The port of the image store.

use super::failure::GenerateError;
use super::generator::Picture;
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::job::{Job, PromptText, ResultImage};

/// Stores pictures, and reads prompts that are too large for a record.
pub trait ImageStore: Send + Sync {
    /// Checks a picture and stores it durably as the result of a job, cropped to the job's ratio where the picture has another.
    ///
    /// A picture that fails the check is the backend's fault, and another backend may do better. The store returns
    /// [`GenerateError::Storage`] only after it has tried for a while: the picture exists and may have cost money.
    fn keep(
        &self,
        job: &Job,
        picture: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>>;

    /// The prompt that was stored under `key`.
    fn read_prompt(
        &self,
        key: String,
    ) -> LocalBoxFuture<'static, Result<PromptText, GenerateError>>;

    /// Removes the input images of a job that has ended. Its prompt stays, because its event needs it.
    fn forget_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()>;
}
