//! Retention of result images: how long an image is kept, and the removal of old ones.

use super::thumbnails;
use crate::application::core::Core;
use crate::application::services::JobService;
use crate::application::settings::Settings;
use crate::objects::{ObjectError, RESULTS, Removal, THUMBNAILS};
use chrono::{DateTime, Utc};
use object_store::path::Path;
use std::str::FromStr as _;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::tables::{FAVOURITE_ACCOUNTS, IMAGES_FORGOTTEN};

/// A job ends after its image is written: a moment later, unless the object store has another clock or the records cannot be written.
const END_DELAY: Duration = Duration::from_secs(3_600);

/// Old images removed under one lock, which bounds the wait of a person who marks a favourite.
const REMOVED_PER_LOCK: usize = 100;

/// When retention removes the image of a job; `None` if there is no image or it is never removed.
pub fn kept_until(settings: &Settings, job: &Job, is_favourite: bool) -> Option<Timestamp> {
    let age = settings.config.results.retention()?;
    if is_favourite {
        return None;
    }
    job.result_image()?;
    Some(job.state.finished_at()?.plus(age))
}

/// Removes up to `limit` images that are older than `older_than` and belong to no favourite, with their thumbnails. Returns how many images
/// it found, or 0 if it cannot get the lock in time.
///
/// # Errors
/// The object store lists no images, or deletes none of them.
pub async fn remove_old_images(
    jobs: &JobService,
    older_than: DateTime<Utc>,
    limit: usize,
) -> Result<usize, ObjectError> {
    let core = &jobs.core;
    let keeps = async |image: &Path| is_kept(core, image).await;
    let found = jobs
        .objects
        .list_expired(RESULTS, older_than, limit, keeps)
        .await?;
    let mut removal = Removal::default();
    // The listing may take long, so it ran without the lock. The check under the lock sees new favourites.
    for images in found.chunks(REMOVED_PER_LOCK) {
        let guard = match core.locks.content.lock().await {
            Ok(guard) => guard,
            Err(error) => {
                tracing::warn!(%error, "could not continue to remove old images");
                return Ok(0);
            }
        };
        let mut removable = Vec::with_capacity(images.len());
        for image in images {
            if !is_kept(core, &image.location).await {
                removable.push(image);
            }
        }
        let written_at = removable.iter().map(|it| it.last_modified).max();
        let Some(newest) = written_at.map(|it| Timestamp::from_millis(it.timestamp_millis()))
        else {
            continue;
        };
        // The engine cannot refuse this removal as it would refuse a commit.
        if !forget(core, newest).await || guard.may_be_lost() {
            return Ok(0);
        }
        let removable: Vec<Path> = removable.iter().map(|it| it.location.clone()).collect();
        let thumbnails = removable.iter().map(Path::as_ref);
        let thumbnails = thumbnails
            .flat_map(thumbnails::keys)
            .map(Path::from)
            .collect();
        // The images first: a thumbnail that another call creates meanwhile is then deleted by that call.
        removal.add(jobs.objects.remove(RESULTS, removable).await);
        drop(guard);
        removal.add(jobs.objects.remove(THUMBNAILS, thumbnails).await);
    }
    removal.into_result()?;
    Ok(found.len())
}

/// Records that images up to this time may be missing, before they are: verification requires all later ones. False if that fails.
async fn forget(core: &Core, newest: Timestamp) -> bool {
    let mark = IMAGES_FORGOTTEN.raise(&core.store, newest.plus(END_DELAY));
    match mark.await {
        Ok(mark) => mark.is_empty() || core.commit(mark).await.is_ok(),
        Err(error) => {
            tracing::error!(%error, "could not remove old images");
            false
        }
    }
}

/// Does the image belong to a favourite? If the read fails, the image stays until the next sweep.
async fn is_kept(core: &Core, image: &Path) -> bool {
    let name = image.filename().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let Ok(job) = JobId::from_str(stem) else {
        return false;
    };
    match FAVOURITE_ACCOUNTS.get(&core.store, &job).await {
        Ok(account) => account.is_some(),
        Err(error) => {
            tracing::error!(%job, %error, "could not check whether an image is a favourite");
            true
        }
    }
}
