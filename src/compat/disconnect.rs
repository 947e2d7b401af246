//! Cancels jobs whose callers have disconnected, if they have not started and no other caller waits for them.

use super::recent_calls::RecentCalls;
use crate::application::error::{self, Error};
use crate::application::services::JobService;
use actix_web::web::Data;
use futures_util::StreamExt as _;
use futures_util::stream;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, TransitionError};
use tintype_storage::store::{EventError, StoreError};
use tokio::sync::mpsc;

const MAX_CONCURRENT_CANCELLATIONS: usize = 256;

/// A job whose caller has disconnected.
#[derive(Clone, Copy, Debug)]
pub struct Disconnect {
    pub account: AccountId,
    pub job: JobId,
}

/// What happened to the job of a disconnected caller.
pub enum CancelOutcome {
    Canceled,
    /// It has started, or another caller watches it. It is charged even if no caller watches its end.
    Continues,
    AlreadyEnded(Box<Job>),
    /// The server is stopping.
    Unknown,
}

/// Cancels the jobs of the callers that the receiver reports. A repeated request no longer finds a canceled one.
pub async fn run(
    jobs: Data<JobService>,
    recent_calls: Arc<RecentCalls<JobId>>,
    receiver: mpsc::UnboundedReceiver<Disconnect>,
) {
    let all = stream::unfold(receiver, |mut receiver| async move {
        receiver
            .recv()
            .await
            .map(|disconnected| (disconnected, receiver))
    });
    all.for_each_concurrent(MAX_CONCURRENT_CANCELLATIONS, async |disconnected| {
        let Disconnect { account, job } = disconnected;
        match cancel(&jobs, disconnected).await {
            CancelOutcome::Canceled => recent_calls.remove_detached(job, jobs.core.now()),
            CancelOutcome::Continues => {
                tracing::info!(%account, %job, "the caller has disconnected; the job continues");
            }
            CancelOutcome::AlreadyEnded(_) | CancelOutcome::Unknown => {}
        }
    })
    .await;
}

/// Cancels the job of a disconnected caller, unless another caller waits for it: with a repeated request or a long poll. That caller
/// wants the image, and can cancel with `DELETE`.
pub async fn cancel(jobs: &JobService, disconnected: Disconnect) -> CancelOutcome {
    let Disconnect { account, job } = disconnected;
    if jobs.core.system.watchers(job) > 0 {
        return CancelOutcome::Continues;
    }
    match cancel_unless_ended(jobs, disconnected).await {
        Ok(Some(outcome)) => outcome,
        Ok(None) => CancelOutcome::Unknown,
        Err(error) => {
            tracing::warn!(%account, %job, %error, "could not cancel the job of a disconnected caller");
            CancelOutcome::Unknown
        }
    }
}

/// As [`cancel`], for a caller that waits for the outcome.
///
/// # Errors
/// The fail-stop has tripped.
pub async fn cancel_for_caller(
    jobs: &JobService,
    disconnected: Disconnect,
) -> Result<CancelOutcome, Error> {
    tokio::select! {
        outcome = cancel(jobs, disconnected) => Ok(outcome),
        _ = jobs.core.fail_stop.tripped() => Err(error::stopping()),
    }
}

/// `None` if the account is unknown or its actor has stopped.
async fn cancel_unless_ended(
    jobs: &JobService,
    disconnected: Disconnect,
) -> Result<Option<CancelOutcome>, StoreError> {
    let core = &jobs.core;
    let Disconnect { account, job } = disconnected;
    let Some(handle) = core.system.accounts().get_or_start(account).await? else {
        return Ok(None);
    };
    Ok(match handle.abandon(job).await {
        Ok(Ok(canceled)) => {
            // Spawned, so that a hanging object store does not delay the next cancellation.
            actix_web::rt::spawn(jobs.input_deletion.delete(&canceled));
            tracing::debug!(%job, "canceled because its caller disconnected");
            Some(CancelOutcome::Canceled)
        }
        Ok(Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))) => {
            let ended = core.store.job(account, job).await?;
            ended.map(|job| CancelOutcome::AlreadyEnded(Box::new(job)))
        }
        Ok(Err(EventError::Transition(_))) => Some(CancelOutcome::Continues),
        Ok(Err(EventError::Store(error))) => return Err(error),
        Ok(Err(EventError::NotFound)) | Err(_) => None,
    })
}
