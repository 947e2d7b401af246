//! A run: one go at making a job's picture, over tries and back ends, ended by exactly one event.

use crate::account::{AccountActor, ApplyEvent, BeginJob};
use crate::dispatcher::Dispatcher;
use crate::figures::Ending;
use crate::job::{JobContext, RunJob};
use crate::observer::{RunEnd, Tries};
use crate::tries;
use actix::Addr;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{FailureKind, Job, JobEvent};
use tintype_storage::engine::wakes::Together;
use tintype_storage::store::EventError;
use tokio::sync::oneshot;

/// Runs a job to its end. Returns it when it is over for good, and its inputs are needed no more.
pub async fn run(
    id: JobId,
    account: AccountId,
    context: &Arc<JobContext>,
    start: RunJob,
    dispatcher: &Addr<Dispatcher>,
) -> Option<Job> {
    let address = account_address(context, account)?;
    let job = begin(&address, id).await?;
    if job.state.is_terminal() {
        return Some(job);
    }
    let entry = context.progress.enter(id);
    let tries = Tries::begin();
    let tell = |end: RunEnd| {
        if let Some(observer) = &context.observer {
            observer.run_ended(&tries.report(&job, end));
        }
    };
    let making = tokio::task::spawn_local(tries::make(
        job.clone(),
        Arc::clone(context),
        entry.progress(),
        tries.clone(),
        start,
        dispatcher.clone(),
    ));
    let abort = making.abort_handle();
    let outcome = tokio::select! {
        // In this order: a picture that is there when the process stops is kept, and no chance decides.
        biased;
        outcome = making => outcome,
        () = context.is_cut_off() => {
            abort.abort();
            tell(RunEnd::CutOff);
            apply(&address, id, JobEvent::CutOff).await;
            return None;
        }
    };
    let event = match outcome {
        Ok(Ok(image)) => JobEvent::Finish { image },
        Ok(Err(error)) => JobEvent::Fail {
            error: error.to_string(),
            kind: error.kind(),
        },
        Err(panic) => {
            tracing::error!(job = %id, %panic, "a run panicked");
            JobEvent::Fail {
                error: "the image generator failed unexpectedly; try again, or change the request"
                    .into(),
                kind: FailureKind::Broken,
            }
        }
    };
    match &event {
        JobEvent::Fail { kind, .. } => tell(RunEnd::Failed(Ending::Failed(*kind))),
        _ => tell(RunEnd::Picture),
    }
    apply(&address, id, event).await.then_some(job)
}

fn account_address(context: &JobContext, account: AccountId) -> Option<Addr<AccountActor>> {
    match context.accounts.get()?.get(account) {
        Ok(handle) => handle.map(|it| it.address),
        Err(error) => {
            tracing::error!(%account, %error, "an account cannot be read");
            None
        }
    }
}

/// The job, begun; `None` when there is nothing to run.
async fn begin(address: &Addr<AccountActor>, job: JobId) -> Option<Job> {
    let (reply, answer) = oneshot::channel();
    address.do_send(BeginJob { job, reply });
    match answer.await {
        Ok(Ok(job)) => Some(job),
        // Canceled while it waited for its turn.
        Ok(Err(EventError::Transition(_) | EventError::NotFound)) => None,
        Ok(Err(EventError::Store(error))) => {
            tracing::error!(%job, %error, "a run could not begin");
            None
        }
        Err(_) => None,
    }
}

/// Was the event applied, and is it on the disk?
async fn apply(address: &Addr<AccountActor>, job: JobId, event: JobEvent) -> bool {
    let (reply, answer) = oneshot::channel();
    address.do_send(ApplyEvent {
        job,
        event,
        note: None,
        reply,
    });
    match Together::new(answer).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            tracing::warn!(%job, %error, "the end of a run was not applied");
            false
        }
        // The account's actor has stopped, because the process is stopping.
        Err(_) => false,
    }
}
