//! Deletes the image of a job on demand, before its retention ends.

use super::thumbnails;
use crate::application::caller::Caller;
use crate::application::core::audit_context::Subject;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{Error, object_store_fault};
use crate::application::jobs::no_job;
use crate::application::services::JobService;
use crate::objects::{ObjectError, other_results};
use futures_util::future::try_join_all;
use serde_json::json;
use std::sync::Arc;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, JobId};

/// Deletes the image of a done job and its thumbnails, to the end even if the caller disconnects. The job stays, with its price. Idempotent.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` if the job has no image; `StorageUnavailable`: then a repeated call continues
pub async fn delete(
    jobs: &Arc<JobService>,
    caller: &Caller,
    account: AccountId,
    id: JobId,
) -> Result<(), Error> {
    if !caller.sees(account) {
        return Err(no_job());
    }
    let audit = caller
        .authorize_job_change(&jobs.core, account)
        .await?
        .cloned();
    let jobs = Arc::clone(jobs);
    detached(async move {
        let core = &jobs.core;
        // Without the lock, a person could mark the job as a favourite meanwhile.
        let guard = core.locks.content.lock().await?;
        let job = core.store.job(account, id).await?.ok_or_else(no_job)?;
        let no_image = || Error::conflict("the job has no image; only a job that is done has one");
        let image = job.result_image().ok_or_else(no_image)?;
        // The record first: otherwise, after a crash, the image would be missing without a reason.
        if !core.store.is_image_deleted(account, id).await? {
            let mut writes = core.store.put_deleted_image(account, id, core.now());
            writes.extend(audit.map(|audit| {
                let before =
                    json!({"bytes": image.bytes, "width": image.width, "height": image.height});
                let subject = Subject::of(account, id.0);
                audit.record(core, Action::JobDeleteImage, subject, Some(before), None)
            }));
            core.commit(Change::under_lock(guard, writes)).await?;
        } else {
            // The object store may take minutes. The record already excludes a favourite.
            drop(guard);
        }
        let deleted = delete_objects(&jobs, &image.key).await;
        deleted.map_err(|error| {
            let detail = "the image could not be deleted; repeat the call";
            object_store_fault(error, "could not delete an image", detail)
        })
    })
    .await
}

/// Also deletes images that interrupted runs of the job have left. The image first: a thumbnail that another call creates meanwhile is then
/// deleted by that call.
pub async fn delete_objects(jobs: &JobService, image: &str) -> Result<(), ObjectError> {
    jobs.objects.delete(image).await?;
    let keys = thumbnails::keys(image).chain(other_results(image));
    let deleted = keys.map(async |key| jobs.objects.delete(&key).await);
    try_join_all(deleted).await.map(drop)
}
