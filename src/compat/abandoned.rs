//! Jobs whose callers have gone away: canceled, if they have not started and nobody else waits for them.

use crate::http::state::AppState;
use actix_web::web::Data;
use futures_util::StreamExt as _;
use futures_util::stream;
use tintype_actors::account::ApplyEvent;
use tintype_actors::generator::Gallery as _;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::JobEvent;
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

/// Runs for as long as the process does.
pub async fn run(state: Data<AppState>, heard: Heard) {
    let all = stream::unfold(heard, |mut heard| async move {
        heard.recv().await.map(|abandoned| (abandoned, heard))
    });
    all.for_each_concurrent(SIDE_BY_SIDE, |abandoned| cancel(&state, abandoned))
        .await;
}

async fn cancel(state: &AppState, abandoned: Abandoned) {
    let Abandoned { account, job } = abandoned;
    // A second call with the same idempotency key, or a lookup that waits.
    if state.system.watchers(job) > 0 {
        return;
    }
    let handle = match state.system.accounts().get(account) {
        Ok(Some(handle)) => handle,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%job, %error, "an abandoned job could not be canceled");
            return;
        }
    };
    let (reply, canceled) = oneshot::channel();
    handle.address.do_send(ApplyEvent {
        job,
        event: JobEvent::Cancel,
        note: None,
        reply,
    });
    // One that has started is finished, kept and charged.
    if let Ok(Ok(canceled)) = canceled.await {
        state.system.job_canceled(&canceled);
        state.gallery.forget_inputs(&canceled).await;
        tracing::debug!(%job, "canceled, as its caller had gone away");
    }
}
