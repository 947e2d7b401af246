//! Cancels jobs that run in the background, and opens their images: their callers look them up.

use crate::application::caller::Caller;
use crate::application::error::ErrorKind;
use crate::application::images::stored_image::{check_stored, read_fault};
use crate::application::jobs;
use crate::compat::base64_body::StoredImage;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, ResultImage};

/// Cancels a job of the account if it is queued, and returns it as it is then: a started job continues. `None` if the account has no
/// such job.
pub async fn cancel(
    state: &CompatState,
    account: AccountId,
    id: JobId,
) -> Result<Option<Job>, Refusal> {
    match jobs::cancel(&state.jobs, &Caller::ApiKey(account), account, id).await {
        Ok(job) => Ok(Some(job)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind == ErrorKind::Conflict => {
            Ok(state.core.store.job(account, id).await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens the image of a job.
///
/// # Errors
/// The image was deleted, or the object store fails.
pub async fn open(
    state: &CompatState,
    job: &Job,
    image: &ResultImage,
) -> Result<StoredImage, Refusal> {
    check_stored(&state.core.store, job).await?;
    let opened = StoredImage::open(&state.jobs, &image.key).await;
    Ok(opened.map_err(read_fault)?)
}
