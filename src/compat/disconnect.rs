//! Jobs whose callers have gone away: canceled, if they have not started and nobody else waits for them.

use crate::application::state::AppState;
use actix_web::web::Data;
use futures_util::StreamExt as _;
use futures_util::stream;
use tintype_actors::account::AccountCommand;
use tintype_actors::ports::ImageStore as _;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobEvent, TransitionError};
use tintype_storage::store::{EventError, StoreError};
use tokio::sync::{mpsc, oneshot};

/// Cancellations that are decided side by side.
const SIDE_BY_SIDE: usize = 256;

/// A job whose caller has gone.
#[derive(Clone, Copy, Debug)]
pub struct Abandoned {
    /// Whose.
    pub account: AccountId,
    /// Which.
    pub job: JobId,
}

/// Told from wherever a caller's future is dropped, which may be anywhere: so nothing is awaited and nothing spawned there.
pub struct Line(mpsc::UnboundedSender<Abandoned>);

/// The other end.
pub type Heard = mpsc::UnboundedReceiver<Abandoned>;

impl Line {
    /// Both ends.
    pub fn new() -> (Self, Heard) {
        let (tell, heard) = mpsc::unbounded_channel();
        (Self(tell), heard)
    }

    /// Tells of a job. There are never more on the line than there were connections.
    pub fn tell(&self, abandoned: Abandoned) {
        // Nobody listens once the service has stopped; the next start cancels what is left.
        let _ = self.0.send(abandoned);
    }
}

/// What has become of a job whose caller has gone.
pub enum Left {
    /// It had not started and nobody else waited for it.
    Canceled,
    /// It has started, or somebody watches it: it is made, kept and charged, also when nobody watches any more by then.
    GoesOn,
    /// It had ended before.
    Over(Box<Job>),
    /// Nobody decides any more.
    Unknown,
}

/// Runs for as long as the process does.
pub async fn run(state: Data<AppState>, heard: Heard) {
    let all = stream::unfold(heard, |mut heard| async move {
        heard.recv().await.map(|abandoned| (abandoned, heard))
    });
    all.for_each_concurrent(SIDE_BY_SIDE, async |abandoned| {
        cancel(&state, abandoned).await;
    })
    .await;
}

/// Cancels a job whose caller has gone, if that can be done, and says what has become of it.
///
/// A second call for the same job keeps it, and so does a lookup that waits: whoever looks wants to see the picture, and has
/// `DELETE` for what it wants no more. So nobody has to cancel when a lookup ends.
pub async fn cancel(state: &AppState, abandoned: Abandoned) -> Left {
    let Abandoned { account, job } = abandoned;
    if state.system.watchers(job) > 0 {
        return Left::GoesOn;
    }
    match decide(state, abandoned).await {
        Ok(Some(left)) => left,
        Ok(None) => Left::Unknown,
        Err(error) => {
            tracing::warn!(%account, %job, %error, "an abandoned job could not be canceled");
            Left::Unknown
        }
    }
}

async fn decide(state: &AppState, abandoned: Abandoned) -> Result<Option<Left>, StoreError> {
    let Abandoned { account, job } = abandoned;
    let Some(handle) = state.system.accounts().get(account)? else {
        return Ok(None);
    };
    let (reply, canceled) = oneshot::channel();
    handle.address.do_send(AccountCommand::Apply {
        job,
        event: JobEvent::Cancel,
        note: None,
        reply,
    });
    Ok(match canceled.await {
        Ok(Ok(canceled)) => {
            state.system.job_canceled(&canceled);
            // Apart: a store that hangs must not hold up what the next one gets back.
            actix_web::rt::spawn(state.gallery.forget_inputs(&canceled));
            tracing::debug!(%job, "canceled, as its caller had gone away");
            Some(Left::Canceled)
        }
        Ok(Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))) => {
            let over = state.store.job(account, job)?;
            over.map(|job| Left::Over(Box::new(job)))
        }
        Ok(Err(EventError::Transition(_))) => Some(Left::GoesOn),
        Ok(Err(EventError::Store(error))) => return Err(error),
        Ok(Err(EventError::NotFound)) | Err(_) => None,
    })
}
