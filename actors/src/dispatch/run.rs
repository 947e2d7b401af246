//! One run of a job: from the lease to the event that ends the run.

use super::context::DispatchContext;
use super::failover::generate;
use super::failures::FailedTry;
use super::input_fetch::with_inputs;
use super::run_log::RunLog;
use crate::backends::BackendLease;
use crate::ports::{GenerateError, JobOutcome, RunEnd};
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use tintype_storage::domain::job::{FailureKind, Job, JobEvent};

/// Runs a job that has begun, and returns it with its input images. Drops the lease before it returns.
pub async fn run(
    mut job: Job,
    lease: BackendLease,
    is_resumed: bool,
    context: &DispatchContext,
) -> (Job, JobEvent) {
    let entry = context.progress.enter(job.id);
    let log = RunLog::begin();
    let generation = async {
        let lease = with_inputs(&mut job, lease, context).await?;
        generate(&job, lease, is_resumed, context, entry.progress(), &log).await
    };
    let outcome = tokio::select! {
        // In this order, so that an image that exists when the process stops is always kept.
        biased;
        outcome = AssertUnwindSafe(generation).catch_unwind() => Some(outcome),
        () = context.cut_off.triggered() => None,
    };
    let (event, end) = match outcome {
        Some(Ok(Ok(image))) => (JobEvent::Finish { image }, RunEnd::Image),
        Some(Ok(Err(error))) => {
            let tries = log.take_failures();
            log_failure(&job, &error, &tries);
            context.failures.remember(job.id, tries);
            failed_run(error.to_string(), error.kind())
        }
        Some(Err(_)) => {
            tracing::error!(job = %job.id, "a run panicked");
            let error = "the image generator failed unexpectedly; try again, or change the request";
            failed_run(error.into(), FailureKind::Broken)
        }
        None => (JobEvent::CutOff, RunEnd::CutOff),
    };
    if let Some(observer) = &context.process.observer {
        observer.run_ended(&log.report(&job, end));
    }
    (job, event)
}

/// One line per failed run, with the last error of each backend. Only at `debug` if the caller's request
/// is the reason, so that callers cannot fill the log.
fn log_failure(job: &Job, error: &GenerateError, tries: &[FailedTry]) {
    let causes: Vec<String> = tries
        .iter()
        .map(|it| format!("{}: {}", it.backend, it.error.cause))
        .collect();
    let (id, account, model, causes) = (job.id, job.account, job.tier.word(), causes.join("; "));
    match error.kind() {
        FailureKind::Refused | FailureKind::Blocked => {
            tracing::debug!(job = %id, %account, model, %error, causes, "a job failed");
        }
        _ => tracing::warn!(job = %id, %account, model, %error, causes, "a job failed"),
    }
}

fn failed_run(error: String, kind: FailureKind) -> (JobEvent, RunEnd) {
    let end = RunEnd::Failed(JobOutcome::Failed(kind));
    (JobEvent::Fail { error, kind }, end)
}
