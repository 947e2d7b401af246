//! A run: one go at making a job's picture, over tries and back ends, ended by exactly one event.

use crate::account::{AccountActor, ApplyEvent, BeginJob};
use crate::backoff;
use crate::breaker::{Event, Pass};
use crate::dispatcher::{Dispatcher, Permit};
use crate::figures::TryOutcome;
use crate::generator::{GenerateError, Order, Picture};
use crate::job::{JobContext, Route};
use crate::observer::{RunEnd, Tries};
use crate::progress::Progress;
use actix::Addr;
use rand::RngExt as _;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Brief, FailureKind, Job, JobEvent, ResultImage};
use tintype_storage::store::EventError;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

/// Where a run begins: on a back end that the dispatcher has found a place on.
pub struct Start {
    /// Which of the tier's routes.
    pub route: usize,
    /// The place there.
    pub permit: Permit,
    /// The leave of the breaker there; `None` where every breaker of the tier is open.
    pub pass: Option<Pass>,
    /// Has a run of the job begun before? Then a back end may hold the work of that.
    pub resumed: bool,
}

/// How long a back end is waited for that is asked whether it holds work.
const HOLDER_PATIENCE: Duration = Duration::from_secs(10);

/// Runs a job to its end.
pub async fn run(
    id: JobId,
    account: AccountId,
    context: &Arc<JobContext>,
    start: Start,
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
    let entry = context.progress.enter(id);
    let tries = Tries::begin();
    let tell = |end: RunEnd<'_>| {
        if let Some(observer) = &context.observer {
            observer.run_ended(&tries.report(&job, end));
        }
    };
    let mut cut_off = context.cut_off.clone();
    let making = tokio::task::spawn_local(make(
        job.clone(),
        Arc::clone(context),
        entry.progress(),
        tries.clone(),
        start,
        dispatcher.clone(),
    ));
    let abort = making.abort_handle();
    let outcome = tokio::select! {
        outcome = making => outcome,
        // The sender lives as long as the process; a closed channel means the same as a cut-off.
        _ = cut_off.wait_for(|cut| *cut) => {
            abort.abort();
            tell(RunEnd::CutOff);
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
    match &event {
        JobEvent::Fail { error, .. } => tell(RunEnd::Failed(error)),
        _ => tell(RunEnd::Picture),
    }
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
    address.do_send(ApplyEvent {
        job,
        event,
        note: None,
        reply,
    });
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
    progress: Progress,
    tries: Tries,
    start: Start,
    dispatcher: Addr<Dispatcher>,
) -> Result<ResultImage, GenerateError> {
    let limit = context.run_timeout;
    let making = try_backends(job, context, progress, tries, start, dispatcher);
    match timeout(limit, making).await {
        Ok(outcome) => outcome,
        Err(_) => Err(GenerateError::TimedOut(format!(
            "no picture was made within {} s",
            limit.as_secs()
        ))),
    }
}

/// Tries the back end that the run begins on, then the tier's others in order, until one gives a picture that can be kept.
///
/// A back end whose breaker is open comes after the others: trying it is still better than failing the job.
async fn try_backends(
    job: Job,
    context: Arc<JobContext>,
    progress: Progress,
    tries: Tries,
    start: Start,
    dispatcher: Addr<Dispatcher>,
) -> Result<ResultImage, GenerateError> {
    let order = order_for(&job, &context, progress).await?;
    let routes = context.routes.of(job.tier);
    let first = match start.resumed && routes.len() > 1 {
        true => holder(&order, routes, &context)
            .await
            .unwrap_or(start.route),
        false => start.route,
    };
    let others = (0..routes.len()).filter(|at| *at != first);
    let mut ahead: VecDeque<usize> = std::iter::once(first).chain(others).collect();
    let mut passed_over = Vec::new();
    // The place that was found is let go where the run goes on at another.
    let mut begun = Some((start.permit, start.pass)).filter(|_| first == start.route);
    let mut last = GenerateError::Broken("no back end is configured for this tier".into());
    while let Some(at) = ahead.pop_front() {
        let Some(route) = routes.get(at) else {
            continue;
        };
        let backend = &context.backends[route.backend];
        let (_place, pass) = match begun.take() {
            Some(begun) => begun,
            None => {
                // Asked for before the wait for a place, so that runs do not queue up at a back end that is down.
                let pass = context.breakers[route.backend].admit(Instant::now());
                let better = ahead.iter().any(|it| is_up(&context, &routes[*it]));
                if pass.is_none() && better && !passed_over.contains(&at) {
                    passed_over.push(at);
                    ahead.push_back(at);
                    continue;
                }
                let places = Arc::clone(&backend.places);
                (Permit::acquire(places, dispatcher.clone()).await, pass)
            }
        };
        let others_up = || ahead.iter().any(|it| is_up(&context, &routes[*it]));
        let figures = &context.figures.backends[route.backend];
        let outcome = match try_backend(&order, route, &context, pass, &tries, &others_up).await {
            Ok(picture) => {
                let kept = context.gallery.keep(&job, picture).await;
                let unusable = u64::from(kept.is_err());
                figures.unusable.fetch_add(unusable, Ordering::Relaxed);
                kept
            }
            Err(error) => Err(error),
        };
        match outcome {
            Err(error @ (GenerateError::Refused(_) | GenerateError::Blocked(_))) => {
                return Err(error);
            }
            Err(error) => {
                figures.given_up.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(job = %job.id, backend = %backend.name, %error, "a back end gave no picture");
                last = error;
            }
            kept => return kept,
        }
    }
    Err(last)
}

/// The route whose back end holds the work of an earlier run of the job.
async fn holder(order: &Order, routes: &[Route], context: &JobContext) -> Option<usize> {
    for (at, route) in routes.iter().enumerate() {
        let generator = &context.backends[route.backend].generator;
        let asked = generator.holds(for_route(order, route));
        if timeout(HOLDER_PATIENCE, asked).await == Ok(true) {
            return Some(at);
        }
    }
    None
}

/// The order as the back end of a route gets it.
fn for_route(order: &Order, route: &Route) -> Order {
    Order {
        model: route.model.clone(),
        ..order.clone()
    }
}

/// Is the back end of this route not passed over?
fn is_up(context: &JobContext, route: &Route) -> bool {
    context.breakers[route.backend].admits(Instant::now())
}

async fn order_for(
    job: &Job,
    context: &JobContext,
    progress: Progress,
) -> Result<Order, GenerateError> {
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
        progress,
        cut_off: context.cut_off.clone(),
    })
}

/// Tries one back end, again after transient faults. Once it is passed over while another is up, it is left to that one.
async fn try_backend(
    order: &Order,
    route: &Route,
    context: &JobContext,
    mut pass: Option<Pass>,
    tries: &Tries,
    others_up: &dyn Fn() -> bool,
) -> Result<Picture, GenerateError> {
    let backend = &context.backends[route.backend];
    let breaker = &context.breakers[route.backend];
    let figures = &context.figures.backends[route.backend];
    let order = for_route(order, route);
    let mut repeats = 0;
    loop {
        order.progress.forget();
        let began = Instant::now();
        // What is late is dropped with the future: no answer of a try that was given up can arrive.
        let outcome = timeout(backend.timeout, backend.generator.generate(order.clone())).await;
        let outcome = outcome.unwrap_or_else(|_| {
            Err(GenerateError::TimedOut(format!(
                "the image generator gave no answer within {} s",
                backend.timeout.as_secs()
            )))
        });
        let (took, told) = (began.elapsed(), TryOutcome::of(&outcome));
        figures.tries[told as usize].add_span(took);
        if context.observer.is_some() {
            tries.add(&backend.name, took, told);
        }
        let (event, retry_after) = match &outcome {
            Err(GenerateError::Transient { retry_after, .. }) => {
                (Event::Failed(*retry_after), *retry_after)
            }
            Err(GenerateError::TimedOut(_)) => (Event::Failed(None), None),
            _ => (Event::Answered, None),
        };
        match &mut pass {
            Some(pass) => pass.record(event, Instant::now()),
            None => breaker.record(event, Instant::now()),
        }
        let error = match outcome {
            Err(
                error @ (GenerateError::Transient { .. }
                | GenerateError::TimedOut(_)
                | GenerateError::NoPicture(_)),
            ) => error,
            done => return done,
        };
        let passed_over = !is_up(context, route) && others_up();
        if repeats >= backend.retries || passed_over {
            return Err(error);
        }
        repeats += 1;
        figures.retries.fetch_add(1, Ordering::Relaxed);
        let jitter = rand::rng().random();
        sleep(backoff::wait(repeats, retry_after, jitter)).await;
    }
}
