//! The port of the object store.

use super::failure::PortFuture;
use super::generator::{CheckedImage, GeneratedImage};
use futures_util::future::LocalBoxFuture;
use tintype_storage::domain::job::{Job, PromptText, ResultImage};

/// The log target for errors of the object store that calls or deliveries repeat. The log limits its rate.
pub const OBJECT_STORE_TARGET: &str = "tintype::object_store";

/// The objects of a job: its image, its prompt if that is too large for a record, and its input images.
pub trait JobObjects: Send + Sync {
    /// Checks an image, and crops it to the job's aspect ratio if it has another. An image that fails the check is the backend's fault,
    /// and another backend may do better.
    fn check_image(&self, job: &Job, image: GeneratedImage) -> PortFuture<CheckedImage>;

    /// Stores an image durably as the result of the job. Returns [`GenerateError::Storage`](super::GenerateError::Storage) only after it
    /// has retried for a while, because the image may have cost money.
    fn store_image(&self, job: &Job, image: CheckedImage) -> PortFuture<ResultImage>;

    /// Can it store images, as far as it knows? Meanwhile queued jobs wait, because a backend would be called, and paid, for an image that
    /// is then lost.
    fn is_usable(&self) -> bool {
        true
    }

    fn read_prompt(&self, key: String) -> PortFuture<PromptText>;

    /// Deletes the input images of an ended job. Its prompt stays, because its event needs it.
    fn delete_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()>;
}
