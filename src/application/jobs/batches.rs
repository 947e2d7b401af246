//! Finds, lists, awaits and cancels batches.

use crate::application::blocking::blocking;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::core::commit::detached;
use crate::application::error::{self, Error};
use crate::application::jobs;
use crate::application::jobs::filter::JobFilter;
use crate::application::paging::{Window, filter_page};
use crate::application::services::JobService;
use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::audit_log::{Action, ToAuditEntry};
use tintype_storage::domain::batch::{Batch, BatchProgress, BatchStatus};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::BATCHES;
use tintype_storage::store::{BatchError, JobRange, Page, Part};
use uuid::Uuid;

/// Jobs read at a time.
const STEP: usize = 256;
/// Jobs canceled in parallel: as many as an account decides in one round.
const CANCELED_IN_PARALLEL: usize = 256;

pub type BatchWithProgress = (Batch, BatchProgress);

/// The same text for an unknown id, a malformed id and another account's batch.
pub fn no_batch() -> Error {
    Error::not_found("there is no such batch")
}

/// Finds a batch of an account.
///
/// # Errors
/// `NotFound`, also for another account's batch
pub async fn find(core: &Core, account: AccountId, id: &str) -> Result<BatchWithProgress, Error> {
    let id: BatchId = id.parse().map_err(|_| no_batch())?;
    core.store.batch(account, id).await?.ok_or_else(no_batch)
}

/// Finds a batch of any account. Runs on the blocking pool: without a known account, the search reads many accounts.
pub async fn find_in_all(
    core: &Core,
    account: Option<AccountId>,
    id: BatchId,
) -> Result<Option<Batch>, Error> {
    let store = core.store.clone();
    blocking(move || match account {
        Some(account) => Ok(store.batch(account, id).wait()?.map(|(batch, _)| batch)),
        None => store.find_batch(id).wait(),
    })
    .await
}

/// A page of an account's batches, newest first.
pub async fn page_of(
    core: &Core,
    account: AccountId,
    window: Window,
) -> Result<Page<BatchWithProgress>, Error> {
    let page = BATCHES.page(&core.store, &account, window.limit, window.after);
    let page = page.await?;
    let mut items = Vec::with_capacity(page.items.len());
    for batch in page.items {
        let progress = core.store.progress_of(&batch).await?;
        items.extend(progress.map(|progress| (batch, progress)));
    }
    Ok(Page {
        items,
        next: page.next,
    })
}

/// A page of the jobs of a batch that match, in the order of its requests. Compares everything but the metadata.
pub async fn page_of_jobs(
    core: &Core,
    batch: Batch,
    window: Window,
    filter: JobFilter,
) -> Result<Page<Job>, Error> {
    let (store, part) = (core.store.clone(), filter.part());
    filter_page(
        window,
        move |limit, after| {
            let after = after.map(|id| JobId(Uuid::from_bytes(id)));
            let items = store.jobs_of_batch(&batch, part, after, limit).wait()?;
            let next = items.last().map(|job| job.id.0.into_bytes());
            Ok(Page { items, next })
        },
        |job| job.id.0.into_bytes(),
        move |job| filter.matches(job),
    )
    .await
}

/// Waits until the batch ends, `max_wait` passes or the service begins to stop, and returns the progress at that time.
pub async fn wait_until_ended(
    core: &Core,
    batch: &Batch,
    max_wait: Duration,
) -> Result<BatchProgress, Error> {
    let mut stopping = core.stopping.subscribe();
    tokio::select! {
        ended = wait_for_jobs(core, batch) => ended?,
        _ = core.fail_stop.tripped() => return Err(error::stopping()),
        () = tokio::time::sleep(max_wait) => {}
        // The sender lives as long as the core does.
        _ = stopping.wait_for(|it| *it) => {}
    }
    core.store.progress_of(batch).await?.ok_or_else(no_batch)
}

/// Waits for the newest live job until none is left. Jobs start in order, so this waits for few of them.
async fn wait_for_jobs(core: &Core, batch: &Batch) -> Result<(), Error> {
    let range = JobRange {
        from: Some(batch.first),
        below: Some(batch.last.next()),
    };
    loop {
        let live = core.store.jobs_of(batch.account, Part::Live, range, 1);
        let Some(newest) = live.await?.pop() else {
            return Ok(());
        };
        core.system.ended(batch.account, newest.id).await?;
    }
}

/// Cancels the queued jobs of a batch, to the end even if the caller disconnects.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` for a batch that has ended
pub async fn cancel(
    jobs: &Arc<JobService>,
    caller: &Caller,
    batch: Batch,
) -> Result<BatchWithProgress, Error> {
    let account = batch.account;
    if !caller.sees(account) {
        return Err(no_batch());
    }
    let audit = caller.authorize_job_change(&jobs.core, account).await?;
    let before = jobs.core.store.progress_of(&batch).await?;
    let before = before.ok_or_else(no_batch)?;
    if before.status() == BatchStatus::Ended {
        // A repeated cancellation gets the response of the first one.
        return match before.canceled_at {
            Some(_) => Ok((batch, before)),
            None => Err(Error::conflict("the batch has already ended")),
        };
    }
    let actor = jobs.core.account_actor(account, no_batch).await?;
    let to_entry = audit.map(|audit| to_entry(&jobs.core, audit, &batch));
    let jobs = Arc::clone(jobs);
    detached(async move {
        let canceled = actor.call(|reply| AccountCommand::CancelBatch {
            batch: batch.id,
            to_entry,
            reply,
        });
        match canceled.await? {
            Ok(_) => cancel_queued(&jobs, &batch).await?,
            Err(BatchError::NotFound) => return Err(no_batch()),
            Err(BatchError::Store(error)) => return Err(error.into()),
        }
        let progress = jobs.core.store.progress_of(&batch).await?;
        Ok((batch, progress.ok_or_else(no_batch)?))
    })
    .await
}

/// Cancels the queued jobs at once, to release their reserved prices. The dispatcher cancels a job that cannot be canceled now.
async fn cancel_queued(service: &JobService, batch: &Batch) -> Result<(), Error> {
    let (store, mut after) = (&service.core.store, None);
    loop {
        let jobs = store.jobs_of_batch(batch, Part::Live, after, STEP).await?;
        let Some(last) = jobs.last() else {
            return Ok(());
        };
        after = Some(last.id);
        let queued = jobs.iter().filter(|job| job.state == JobState::Queued);
        stream::iter(queued)
            .for_each_concurrent(CANCELED_IN_PARALLEL, |job| async {
                if let Err(error) = jobs::end_queued(service, job.account, job.id, None).await {
                    tracing::debug!(job = %job.id, %error, "a job of a canceled batch was not canceled");
                }
            })
            .await;
    }
}

fn to_entry(core: &Core, audit: &AuditContext, batch: &Batch) -> ToAuditEntry<BatchId> {
    let subject = Subject::of(batch.account, batch.id.0);
    let entry = audit.entry(core, Action::BatchCancel, subject);
    Box::new(move |_: &BatchId| {
        let after = json!({"status": BatchStatus::Canceling.as_str()});
        to_audit_entry(entry.clone(), None, Some(after))
    })
}
