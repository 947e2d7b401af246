//! Deletions of images on demand whose mark is on record, but whose objects may still be there: the object store refused, or the process
//! died after the commit.

use super::deletion::delete_objects;
use super::thumbnails;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::paging::CLOCK_SKEW;
use crate::application::services::JobService;
use futures_util::stream::{self, StreamExt as _};
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;
use tintype_storage::store::tables::DELETIONS_COMPLETE;

/// What the first call covers before the completed deletions, and what is covered after a clock that was ahead.
const FIRST_SPAN: Duration = Duration::from_secs(86_400);
/// Images deleted concurrently.
const CONCURRENCY: usize = 16;

/// Was the image of a job deleted on demand, to the end?
pub async fn is_complete(jobs: &JobService, job: &Job) -> Result<bool, Error> {
    let store = &jobs.core.store;
    let Some(image) = job.result_image() else {
        return Ok(false);
    };
    if !store.is_image_deleted(job.account, job.id).await? {
        return Ok(false);
    }
    let found = thumbnails::check_exists(jobs, &image.key).await;
    Ok(found.is_err_and(|error| error.kind == ErrorKind::Gone))
}

/// Deletions that were recorded before this time are complete. A mark that is ahead of the clock says nothing about the deletions since the
/// clock was corrected.
pub async fn complete_before(core: &Core) -> Result<Timestamp, StoreError> {
    let (mark, now) = (DELETIONS_COMPLETE.mark(&core.store).await?, core.now());
    Ok(match mark <= now {
        true => mark,
        false => now.minus(FIRST_SPAN),
    })
}

/// The part of the deletions that is known to be complete.
#[derive(Debug, Default)]
pub struct CompletedDeletions {
    /// Deletions that were recorded before this time. `None` after the start of the process: the store has the time.
    before: Option<Timestamp>,
}

impl CompletedDeletions {
    /// Deletes the images of the newest deletions again.
    ///
    /// A local store does not sync its directories after a deletion, so a file can return after a power failure. Such deletions are
    /// among the last before the failure. So the first call covers a day before the deletions that earlier processes have completed.
    pub async fn complete(&mut self, jobs: &JobService) {
        let (store, began) = (&jobs.core.store, jobs.core.now());
        let deleted = async {
            let since = match self.before.filter(|before| *before <= began) {
                Some(before) => before,
                None => complete_before(&jobs.core).await?.minus(FIRST_SPAN),
            };
            // Also if a deletion fails now, however many calls it takes.
            self.before = Some(since);
            store.image_deletions_since(since).await
        };
        let deleted = match deleted.await {
            Ok(deleted) => deleted,
            Err(error) => {
                tracing::error!(%error, "could not read the deleted images");
                return;
            }
        };
        let deletions = stream::iter(deleted).map(|(account, id)| delete_again(jobs, account, id));
        let deletions = deletions.buffer_unordered(CONCURRENCY);
        let is_complete = deletions.fold(true, async |all, it| all && it);
        if is_complete.await {
            // A deletion gets its time before its commit, and maybe from the clock of another node.
            let before = began.minus(CLOCK_SKEW);
            self.before = Some(before);
            record(&jobs.core, before).await;
        }
    }
}

/// Without the record, a restart repeats more deletions.
async fn record(core: &Core, before: Timestamp) {
    match complete_before(core).await {
        Ok(known) if before <= known => {}
        // Lowers a mark that is ahead of the clock. A failure stops the process.
        Ok(_) => drop(
            core.commit(vec![DELETIONS_COMPLETE.put(&(), &before)])
                .await,
        ),
        Err(error) => tracing::error!(%error, "could not record the completed deletions of images"),
    }
}

async fn delete_again(jobs: &JobService, account: AccountId, id: JobId) -> bool {
    let job = match jobs.core.store.job(account, id).await {
        Ok(job) => job,
        Err(error) => {
            tracing::error!(job = %id, %error, "could not read a job whose image was deleted");
            return false;
        }
    };
    let Some(image) = job.as_ref().and_then(Job::result_image) else {
        return true;
    };
    let deleted = delete_objects(jobs, &image.key).await;
    deleted
        .inspect_err(
            |error| tracing::warn!(job = %id, %error, "could not complete the deletion of an image"),
        )
        .is_ok()
}
