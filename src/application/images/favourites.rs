//! Favourites: jobs that an account has marked. Retention keeps their images.

use super::thumbnails;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::commit::Change;
use crate::application::error::{Error, ErrorKind};
use crate::application::jobs;
use crate::application::services::JobService;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::{JobRange, MAX_FAVOURITES};

/// Marks a job as a favourite. Idempotent.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` if the job has no image; `Gone` if the image was deleted; `Invalid` if the account
/// has [`MAX_FAVOURITES`]
pub async fn add(
    jobs: &JobService,
    caller: &Caller,
    account: AccountId,
    id: &str,
) -> Result<(), Error> {
    let core = &jobs.core;
    jobs::find(core, account, id).await?;
    // Retention takes the same lock, so it cannot remove the job or its image meanwhile.
    let guard = core.locks.content.lock().await?;
    caller.reauthorize_change(core, account).await?;
    let job = jobs::find(core, account, id).await?;
    if core.store.is_favourite(account, job.id).await? {
        return Ok(());
    }
    let image = job.result_image().ok_or_else(|| {
        Error::conflict("the job has no image, and a favourite keeps the image of a job")
    })?;
    // The image may still be there: it goes after its mark.
    if core.store.is_image_deleted(account, job.id).await? {
        return Err(Error::new(ErrorKind::Gone, "the image was deleted"));
    }
    thumbnails::check_exists(jobs, &image.key).await?;
    let others = core
        .store
        .favourites_of(account, JobRange::ALL, MAX_FAVOURITES);
    if others.await?.len() == MAX_FAVOURITES {
        let message = format!(
            "the account already has {MAX_FAVOURITES} favourites, the maximum; remove one first"
        );
        return Err(Error::field("favourite", message));
    }
    let writes = core.store.put_favourite(account, job.id, core.now());
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}

/// Unmarks a job. Retention then removes its image when it is old enough.
///
/// # Errors
/// `NotFound`; `Forbidden`
pub async fn remove(
    core: &Core,
    caller: &Caller,
    account: AccountId,
    id: &str,
) -> Result<(), Error> {
    let job = jobs::find(core, account, id).await?;
    let guard = core.locks.content.lock().await?;
    caller.reauthorize_change(core, account).await?;
    let writes = core.store.remove_favourite(account, job.id);
    Ok(core.commit(Change::under_lock(guard, writes)).await?)
}
