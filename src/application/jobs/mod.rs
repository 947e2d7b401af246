//! Finds, awaits and cancels jobs.

pub(crate) mod batch_jobs;
pub(crate) mod batches;
pub(crate) mod export;
pub(crate) mod filter;
pub(crate) mod list;
pub mod search_index;

use crate::application::blocking::blocking;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::core::commit::detached;
use crate::application::error::{self, Error, object_store_fault};
use crate::application::services::JobService;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::audit_log::{Action, ToAuditEntry};
use tintype_storage::domain::ids::{AccountId, JobId, moment_of};
use tintype_storage::domain::job::Job;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::EventError;

/// The same text for an unknown id, a malformed id and another account's job.
pub fn no_job() -> Error {
    Error::not_found("there is no such job")
}

/// Finds a job of an account.
///
/// # Errors
/// `NotFound`, also for another account's job
pub async fn find(core: &Core, account: AccountId, id: &str) -> Result<Job, Error> {
    let id: JobId = id.parse().map_err(|_| no_job())?;
    core.store.job(account, id).await?.ok_or_else(no_job)
}

/// Finds a job of any account. Runs on the blocking pool: without a known account, the search reads many accounts.
pub async fn find_in_all(core: &Core, account: Option<AccountId>, id: JobId) -> Result<Job, Error> {
    let store = core.store.clone();
    let found = blocking(move || match account {
        Some(account) => store.job(account, id).wait(),
        None => store.find_job(id).wait(),
    });
    found.await?.ok_or_else(no_job)
}

/// Parses a job id. The service never issued an id without a timestamp.
pub fn read_id(text: &str) -> Result<JobId, Error> {
    let id: JobId = text.parse().map_err(|_| no_job())?;
    moment_of(&id.0).ok_or_else(no_job)?;
    Ok(id)
}

/// Waits until the job is terminal, `max_wait` passes or the service begins to stop, and returns the job at that time.
pub async fn wait_until_terminal(core: &Core, job: Job, max_wait: Duration) -> Result<Job, Error> {
    let mut stopping = core.stopping.subscribe();
    tokio::select! {
        ended = core.system.ended(job.account, job.id) => return Ok(ended?.unwrap_or(job)),
        _ = core.fail_stop.tripped() => return Err(error::stopping()),
        () = tokio::time::sleep(max_wait) => {}
        // The sender lives as long as the core does.
        _ = stopping.wait_for(|it| *it) => {}
    }
    Ok(core.store.job(job.account, job.id).await?.unwrap_or(job))
}

/// Cancels a queued job, to the end even if the caller disconnects.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` for a job that has started or ended
pub async fn cancel(
    jobs: &Arc<JobService>,
    caller: &Caller,
    account: AccountId,
    id: JobId,
) -> Result<Job, Error> {
    if !caller.sees(account) {
        return Err(no_job());
    }
    let audit = caller.authorize_job_change(&jobs.core, account).await?;
    let to_entry = audit.map(|audit| to_entry(&jobs.core, audit, account, id));
    let jobs = Arc::clone(jobs);
    detached(async move { end_queued(&jobs, account, id, to_entry).await }).await
}

/// Cancels a queued job and deletes its input images.
///
/// # Errors
/// `NotFound`; `Conflict` for a job that has started or ended
pub async fn end_queued(
    jobs: &JobService,
    account: AccountId,
    id: JobId,
    to_entry: Option<ToAuditEntry<Job>>,
) -> Result<Job, Error> {
    let actor = jobs.core.account_actor(account, no_job).await?;
    match actor.cancel(id, to_entry).await? {
        Ok(job) => {
            jobs.input_deletion.delete(&job).await;
            Ok(job)
        }
        Err(EventError::NotFound) => Err(no_job()),
        Err(EventError::Transition(error)) => Err(Error::conflict(error.to_string())),
        Err(EventError::Store(error)) => Err(error.into()),
    }
}

fn to_entry(core: &Core, audit: &AuditContext, account: AccountId, id: JobId) -> ToAuditEntry<Job> {
    let subject = Subject::of(account, id.0);
    let entry = audit.entry(core, Action::JobCancel, subject);
    Box::new(move |job: &Job| {
        let [before, after] = ["queued", job.state.as_str()].map(|it| Some(json!({"status": it})));
        to_audit_entry(entry.clone(), before, after)
    })
}

/// A fresh download URL of the image; `None` unless the job is done.
pub async fn image_url<S: AsRef<str>>(
    jobs: &JobService,
    job: &Job<S>,
) -> Result<Option<String>, Error> {
    match job.result_image() {
        Some(image) => Ok(Some(presign(jobs, image.key.as_ref()).await?)),
        None => Ok(None),
    }
}

pub async fn presign(jobs: &JobService, key: &str) -> Result<String, Error> {
    let signed = jobs
        .objects
        .presign(
            key,
            jobs.core.now().to_datetime(),
            jobs.settings.config.results.url_lifetime(),
        )
        .await;
    signed.map_err(|error| {
        let detail = "the service could not sign the URL of the image; try again";
        object_store_fault(error, "could not sign a download URL", detail)
    })
}
