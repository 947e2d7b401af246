//! Fetches the input images of a batch job at its first run, and records them before they are used.

use super::backoff;
use super::context::DispatchContext;
use super::failover::RunError;
use super::lease_wait::{LeaseWait, NoLease};
use super::run_deadline::RunDeadline;
use crate::backends::{BackendLease, LeaseKind};
use crate::ports::{FetchedInputs, GenerateError};
use tintype_storage::domain::job::{Job, JobEvent};

/// Fetches the input images of a job that does not have them yet.
///
/// Gives up the lease meanwhile and waits for another one: a slow host must not occupy a slot that other jobs could use. `deadline` is
/// that of the run after the fetch.
pub async fn with_inputs(
    job: &mut Job,
    lease: BackendLease,
    context: &DispatchContext,
    deadline: &mut RunDeadline,
) -> Result<BackendLease, RunError> {
    if job.input_urls().is_none() {
        return Ok(lease);
    }
    // At most as many jobs fetch at once as the model has slots. The fetch is counted before the slot is free for the account's next job.
    let max_fetches = context.pool.slots(job.tier);
    let _fetch = context
        .local_queue
        .begin_fetch(job.tier, job.account, max_fetches);
    let kind = LeaseKind::Start(Some(lease.route));
    drop(lease);
    let FetchedInputs { inputs, ratio } = fetch(job, context).await?;
    let recorded = record(job, JobEvent::InputsFetched { inputs, ratio }, context).await;
    *job = recorded.ok_or_else(|| {
        GenerateError::Storage("the input images could not be recorded; try again".to_owned())
    })?;
    let wait = LeaseWait {
        account: job.account,
        tier: job.tier,
        kind,
        counts_as_work: false,
    };
    let lease = wait.until(deadline, context).await;
    lease.map_err(|reason| match reason {
        NoLease::TimedOut => deadline.exceeded().into(),
        NoLease::Stopping => RunError::CutOff,
    })
}

/// Fetches, and repeats the fetch after failures that may pass, for as long as a run may take.
async fn fetch(job: &Job, context: &DispatchContext) -> Result<FetchedInputs, GenerateError> {
    let mut deadline = RunDeadline::new(context.run_timeout);
    let mut repeats = 0;
    loop {
        let fetched = deadline.work(context.input_fetcher.fetch(job)).await;
        let error = match fetched.unwrap_or_else(|| Err(deadline.exceeded())) {
            Ok(fetched) => return Ok(fetched),
            Err(error) => error,
        };
        repeats += 1;
        let wait = backoff::delay(repeats, error.retry_after(), (context.jitter)());
        if !error.is_retryable() || !deadline.wait(wait).await {
            return Err(error);
        }
        tracing::info!(job = %job.id, %error, "could not fetch the input images; retrying");
    }
}

/// The job after the event; `None` if the event was not applied.
async fn record(job: &Job, event: JobEvent, context: &DispatchContext) -> Option<Job> {
    let account = context.account(job.account).await?;
    account.apply(job.id, event, None).await.ok()?.ok()
}
