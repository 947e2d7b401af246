//! Jobs whose callers have disconnected: canceled, if they have not started and no other caller waits for them.

use crate::application::state::AppState;
use actix_web::web::Data;
use futures_util::StreamExt as _;
use futures_util::stream;
use tintype_actors::ports::ImageStore as _;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, TransitionError};
use tintype_storage::store::{EventError, StoreError};
use tokio::sync::mpsc;

/// Cancellations that are decided side by side.
const SIDE_BY_SIDE: usize = 256;

/// A job whose caller has disconnected.
#[derive(Clone, Copy, Debug)]
pub struct Disconnected {
    pub account: AccountId,
    pub job: JobId,
}

/// Reports disconnects from where a caller's future is dropped. That may be outside of any runtime, so nothing is awaited or spawned there.
pub struct DisconnectSender(mpsc::UnboundedSender<Disconnected>);

/// Receives them.
pub type DisconnectReceiver = mpsc::UnboundedReceiver<Disconnected>;

impl DisconnectSender {
    pub fn new() -> (Self, DisconnectReceiver) {
        let (tell, heard) = mpsc::unbounded_channel();
        (Self(tell), heard)
    }

    /// Reports a job. No more are queued than there were connections.
    pub fn send(&self, disconnected: Disconnected) {
        // The receiver is gone once the service has stopped; the next start cancels these jobs.
        let _ = self.0.send(disconnected);
    }
}

/// What became of a job whose caller disconnected.
pub enum Outcome {
    /// It had not started, and no other caller waited for it.
    Canceled,
    /// It has started, or another caller watches it: it goes on and is charged, even without a caller that watches it at its end.
    GoesOn,
    /// It had ended before.
    Over(Box<Job>),
    /// The service is stopping.
    Unknown,
}

/// Runs for as long as the process does.
pub async fn run(state: Data<AppState>, heard: DisconnectReceiver) {
    let all = stream::unfold(heard, |mut heard| async move {
        heard.recv().await.map(|disconnected| (disconnected, heard))
    });
    all.for_each_concurrent(SIDE_BY_SIDE, async |disconnected| {
        cancel(&state, disconnected).await;
    })
    .await;
}

/// Cancels a job whose caller has disconnected, if possible.
///
/// A second call for the same job keeps it, and so does a lookup that waits: that caller wants the picture, and has `DELETE` to
/// cancel.
pub async fn cancel(state: &AppState, disconnected: Disconnected) -> Outcome {
    let Disconnected { account, job } = disconnected;
    if state.system.watchers(job) > 0 {
        return Outcome::GoesOn;
    }
    match cancel_unless_over(state, disconnected).await {
        Ok(Some(left)) => left,
        Ok(None) => Outcome::Unknown,
        Err(error) => {
            tracing::warn!(%account, %job, %error, "the job of a disconnected caller could not be canceled");
            Outcome::Unknown
        }
    }
}

/// What became of the job; `None` where its account is not known here, or answers no more.
async fn cancel_unless_over(
    state: &AppState,
    disconnected: Disconnected,
) -> Result<Option<Outcome>, StoreError> {
    let Disconnected { account, job } = disconnected;
    let Some(handle) = state.system.accounts().get(account)? else {
        return Ok(None);
    };
    Ok(match handle.cancel(job).await {
        Ok(Ok(canceled)) => {
            state.system.job_canceled(&canceled);
            // Spawned: an object store that hangs must not delay the next cancellation.
            actix_web::rt::spawn(state.result_store.forget_inputs(&canceled));
            tracing::debug!(%job, "canceled because its caller disconnected");
            Some(Outcome::Canceled)
        }
        Ok(Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))) => {
            let over = state.store.job(account, job).await?;
            over.map(|job| Outcome::Over(Box::new(job)))
        }
        Ok(Err(EventError::Transition(_))) => Some(Outcome::GoesOn),
        Ok(Err(EventError::Store(error))) => return Err(error),
        Ok(Err(EventError::NotFound)) | Err(_) => None,
    })
}
