//! Images of earlier jobs as input images of new ones.

use super::generation_request::Input;
use crate::application::core::Core;
use crate::application::error::{Error, upload_fault};
use crate::application::images::stored_image::{check_stored, read_fault};
use crate::application::services::GenerationService;
use crate::inputs::StoredUpload;
use futures_util::StreamExt as _;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::ResultImage;

/// Checks that the images of earlier jobs can be copied. `unknown` is the error for a job that the account does not have.
///
/// # Errors
/// The account has no such job, the job has no image, or the image was deleted.
pub async fn check<E: From<Error>>(
    core: &Core,
    account: AccountId,
    inputs: &[Input],
    unknown: impl Fn(JobId, &str) -> E,
) -> Result<(), E> {
    for input in inputs {
        if let Input::Earlier { job, field } = input
            && find(core, account, *job, field).await?.is_none()
        {
            return Err(unknown(*job, field));
        }
    }
    Ok(())
}

/// Copies the image of an earlier job of the account, because a job owns its input images, which are deleted when it ends.
///
/// # Errors
/// Those of [`check`]; there is no memory for the image in time; or the object store fails.
pub async fn copy(
    generations: &GenerationService,
    account: AccountId,
    job: JobId,
    field: &str,
) -> Result<Box<StoredUpload>, Error> {
    let fault = |fault| upload_fault(fault, field);
    let image = find(&generations.core, account, job, field).await?;
    let image = image.ok_or_else(|| Error::field(field, "is unknown"))?;
    let mut chunks = generations
        .objects
        .chunks(&image.key)
        .await
        .map_err(read_fault)?;
    let mut upload = generations.inputs.of(account).begin_upload();
    while let Some(chunk) = chunks.next().await {
        upload = upload
            .push(chunk.map_err(read_fault)?)
            .await
            .map_err(fault)?;
    }
    Ok(Box::new(upload.finish().await.map_err(fault)?))
}

/// `None` if the account has no such job.
async fn find(
    core: &Core,
    account: AccountId,
    id: JobId,
    field: &str,
) -> Result<Option<ResultImage>, Error> {
    let Some(job) = core.store.job(account, id).await? else {
        return Ok(None);
    };
    let Some(image) = job.result_image() else {
        let message = format!("has no image: its job is {}", job.state.as_str());
        return Err(Error::field(field, message));
    };
    check_stored(&core.store, &job).await?;
    Ok(Some(image.clone()))
}
