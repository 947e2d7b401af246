//! One run of a job: from the lease to the event that ends the run.

use super::context::DispatchContext;
use super::failover::{RunError, generate};
use super::input_fetch::with_inputs;
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::BackendLease;
use crate::ports::{JobOutcome, RunEnd};
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tintype_storage::domain::job::{FailureKind, Job, JobEvent};
use tokio::time::timeout;

/// The time after the cut-off in which an image can still be stored. Shorter than the time in which the run must record its end.
const STORE_GRACE: Duration = Duration::from_secs(4);

/// Runs a job that has begun, and returns it with its input images. Drops the lease before it returns.
pub async fn run(
    mut job: Job,
    lease: BackendLease,
    mut deadline: RunDeadline,
    is_resumed: bool,
    context: &DispatchContext,
) -> (Job, JobEvent) {
    let entry = context.progress.enter(job.id);
    let log = RunLog::begin();
    let generation = async {
        let lease = with_inputs(&mut job, lease, context, &mut deadline).await?;
        let progress = entry.progress();
        generate(&job, lease, is_resumed, context, progress, &log, deadline).await
    };
    let outcome = tokio::select! {
        // In this order, so that an image that exists when the process stops is kept if it can be stored in time.
        biased;
        outcome = AssertUnwindSafe(generation).catch_unwind() => Some(outcome),
        () = cut_off(context, &log) => None,
    };
    let (event, end) = match outcome {
        Some(Ok(Ok(image))) => (JobEvent::Finish { image }, RunEnd::Image),
        Some(Ok(Err(RunError::Failed(error)))) => {
            context.failures.remember(job.id, log.take_failures());
            log_failure(&job, error.kind());
            failed_run(error.to_string(), error.kind())
        }
        Some(Err(_)) => {
            tracing::error!(job = %job.id, "a run panicked");
            log_failure(&job, FailureKind::Broken);
            let error = "the image generator failed unexpectedly; try again, or change the request";
            failed_run(error.into(), FailureKind::Broken)
        }
        Some(Ok(Err(RunError::CutOff))) | None => (JobEvent::CutOff, RunEnd::CutOff),
    };
    if let Some(observer) = &context.process.observer {
        observer.run_ended(&log.report(&job, end));
    }
    (job, event)
}

/// Waits for the cut-off, and then for the storing of an image that a backend has already returned: it may have cost minutes or money.
async fn cut_off(context: &DispatchContext, log: &RunLog) {
    context.cut_off.triggered().await;
    let _ = timeout(STORE_GRACE, log.stored()).await;
}

/// Logs the failure without the job's error, which may contain the caller's text. The log lines of the attempts contain the causes.
pub fn log_failure(job: &Job, kind: FailureKind) {
    let (id, account, model, outcome) = (job.id, job.account, job.tier.as_str(), kind.as_str());
    match kind {
        FailureKind::Refused | FailureKind::Blocked => {
            tracing::info!(job = %id, %account, model, outcome, "the job failed");
        }
        _ => tracing::warn!(job = %id, %account, model, outcome, "the job failed"),
    }
}

fn failed_run(error: String, kind: FailureKind) -> (JobEvent, RunEnd) {
    let end = RunEnd::Failed(JobOutcome::Failed(kind));
    (JobEvent::Fail { error, kind }, end)
}
