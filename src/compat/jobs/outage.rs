//! Outages: no backend of a model is in service, and a caller waits on a connection for an image.

use crate::application::services::JobService;
use crate::application::submission::job_refusal::retry_after;
use crate::compat::refusal::{Kind, Refusal};
use actix_web::rt::spawn;
use actix_web::web::Data;
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::tier::Tier;
use tokio::time::sleep;

/// How often a waiting call checks whether its model is out of service.
const POLL: Duration = Duration::from_secs(1);
/// A job is canceled if it is in this many checks in a row. Until then another node, which may reach a backend, can start the job.
const CHECKS: u32 = 2;
/// While another node runs jobs of the model, which may wait for a backend themselves, or while another request, such as a long poll,
/// waits for the job.
const SHARED_CHECKS: u32 = 30;
/// When to come back if no probe is scheduled: one is running, or all backends are paused.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// Waits until the model is out of service, then cancels the job if it is queued. A job that has begun meanwhile continues,
/// because the account decides. Never returns: the caller waits for the end of the job.
pub async fn cancel_when_unserved(
    jobs: &Data<JobService>,
    tier: Tier,
    account: AccountId,
    job: JobId,
) -> Infallible {
    let system = &jobs.core.system;
    let mut failed_checks = 0;
    loop {
        sleep(POLL).await;
        if !system.is_out_of_service(tier) {
            failed_checks = 0;
            continue;
        }
        failed_checks += 1;
        // One watcher is this caller.
        let is_shared = system.runs_elsewhere(tier) || system.watchers(job) > 1;
        let checks = if is_shared { SHARED_CHECKS } else { CHECKS };
        if failed_checks >= checks {
            break;
        }
    }
    // A separate task, because the end of the job ends this wait before the input images are deleted.
    spawn(cancel(jobs.clone(), account, job));
    pending().await
}

/// Cancels the job if it is queued.
async fn cancel(jobs: Data<JobService>, account: AccountId, job: JobId) {
    // A failed read trips the fail-stop, which ends the wait of the caller.
    let Ok(Some(actor)) = jobs.core.system.accounts().get_or_start(account).await else {
        return;
    };
    if let Ok(Ok(canceled)) = actor.cancel_unserved(job).await {
        tracing::debug!(%job, "canceled because no backend of its model is in service");
        jobs.input_deletion.delete(&canceled).await;
    }
}

/// In an outage, tells the caller of a job that no backend could serve when a backend is tried again.
pub fn with_retry_after(refusal: Refusal, jobs: &JobService, tier: Tier) -> Refusal {
    let system = &jobs.core.system;
    if refusal.kind != Kind::Unavailable || system.has_backend_in_service(tier) {
        return refusal;
    }
    let wait = system.time_to_probe(tier).unwrap_or(RETRY_AFTER);
    Refusal {
        retry_after: Some(retry_after(wait)),
        ..refusal
    }
}
