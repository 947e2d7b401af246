//! A run: one go at making a job's picture, over tries and back ends, ended by exactly one event.

use crate::account::{AccountActor, ApplyEvent, BeginJob};
use crate::backoff;
use crate::dispatcher::{Dispatcher, Permit};
use crate::generator::{GenerateError, Order, Picture};
use crate::job::{Backend, JobContext, Route};
use actix::Addr;
use rand::RngExt as _;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Brief, FailureKind, Job, JobEvent, ResultImage};
use tintype_storage::store::EventError;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// Runs a job to its end. The permit is a place on the tier's preferred back end.
pub async fn run(
    id: JobId,
    account: AccountId,
    context: &Arc<JobContext>,
    permit: Permit,
    dispatcher: &Addr<Dispatcher>,
) {
    let Some(address) = account_address(context, account) else {
        return;
    };
    let job = match begin(&address, id).await {
        Some(job) if !job.state.is_terminal() => job,
        Some(job) => {
            context.gallery.forget_inputs(&job).await;
            return;
        }
        None => return,
    };
    let mut cut_off = context.cut_off.clone();
    let making = tokio::task::spawn_local(make(
        job.clone(),
        Arc::clone(context),
        permit,
        dispatcher.clone(),
    ));
    let abort = making.abort_handle();
    let outcome = tokio::select! {
        outcome = making => outcome,
        // The sender lives as long as the process; a closed channel means the same as a cut-off.
        _ = cut_off.wait_for(|cut| *cut) => {
            abort.abort();
            apply(&address, id, JobEvent::CutOff).await;
            return;
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
    if apply(&address, id, event).await {
        context.gallery.forget_inputs(&job).await;
    }
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
    address.do_send(ApplyEvent { job, event, reply });
    match answer.await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            tracing::warn!(%job, %error, "the end of a run was not applied");
            false
        }
        // The account's actor has stopped, because the process is stopping.
        Err(_) => false,
    }
}

/// The picture of a run, or why there is none once its time is over.
async fn make(
    job: Job,
    context: Arc<JobContext>,
    permit: Permit,
    dispatcher: Addr<Dispatcher>,
) -> Result<ResultImage, GenerateError> {
    let limit = context.run_timeout;
    match timeout(limit, try_backends(job, context, permit, dispatcher)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(GenerateError::TimedOut(format!(
            "no picture was made within {} s",
            limit.as_secs()
        ))),
    }
}

/// Tries the tier's back ends in order until one gives a picture that can be kept.
async fn try_backends(
    job: Job,
    context: Arc<JobContext>,
    permit: Permit,
    dispatcher: Addr<Dispatcher>,
) -> Result<ResultImage, GenerateError> {
    let order = order_for(&job, &context).await?;
    let mut permit = Some(permit);
    let mut last = GenerateError::Broken("no back end is configured for this tier".into());
    for route in context.routes.of(job.tier) {
        let backend = &context.backends[route.backend];
        let _place = match permit.take() {
            Some(permit) => permit,
            None => Permit::acquire(Arc::clone(&backend.places), dispatcher.clone()).await,
        };
        match try_backend(&order, route, backend).await {
            Ok(picture) => return context.gallery.keep(&job, picture).await,
            Err(error @ (GenerateError::Refused(_) | GenerateError::Blocked(_))) => {
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(job = %job.id, backend = %backend.name, %error, "a back end gave no picture");
                last = error;
            }
        }
    }
    Err(last)
}

async fn order_for(job: &Job, context: &JobContext) -> Result<Order, GenerateError> {
    let prompt = match &job.brief {
        Brief::Inline(words) => words.prompt.clone(),
        Brief::Stored(key) => context.gallery.words(key.clone()).await?.prompt,
    };
    Ok(Order {
        job: job.id,
        tier: job.tier,
        model: None,
        prompt,
        ratio: job.ratio,
        resolution: job.resolution,
        pixels: job.ratio.pixels(job.tier, job.resolution),
        inputs: job.inputs.clone(),
    })
}

/// Tries one back end, again after transient faults.
async fn try_backend(
    order: &Order,
    route: &Route,
    backend: &Backend,
) -> Result<Picture, GenerateError> {
    let order = Order {
        model: route.model.clone(),
        ..order.clone()
    };
    let mut tries = 0;
    loop {
        let outcome = timeout(backend.timeout, backend.generator.generate(order.clone())).await;
        let error = match outcome {
            Ok(Ok(picture)) => return Ok(picture),
            Ok(Err(error)) => error,
            Err(_) => GenerateError::TimedOut(format!(
                "the image generator gave no answer within {} s",
                backend.timeout.as_secs()
            )),
        };
        let retry_after = match &error {
            GenerateError::Transient { retry_after, .. } => *retry_after,
            GenerateError::TimedOut(_) => None,
            _ => return Err(error),
        };
        if tries >= backend.retries {
            return Err(error);
        }
        tries += 1;
        sleep(backoff::wait(tries, retry_after, rand::rng().random())).await;
    }
}
