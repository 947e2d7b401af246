//! Is the image of a job still stored?

use crate::application::error::{Error, ErrorKind, image_fault};
use crate::objects::ObjectError;
use tintype_storage::domain::job::Job;
use tintype_storage::store::Store;

/// The object of an image is deleted after its record, and that may fail and be repeated later.
///
/// # Errors
/// The image was deleted.
pub async fn check_stored(store: &Store, job: &Job) -> Result<(), Error> {
    match store.is_image_deleted(job.account, job.id).await? {
        true => Err(gone()),
        false => Ok(()),
    }
}

/// The image of a job could not be opened or read.
pub fn read_fault(error: ObjectError) -> Error {
    match error {
        ObjectError::NotFound { .. } => gone(),
        error => image_fault(error),
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the image is no longer stored")
}
