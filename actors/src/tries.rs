//! The tries of a run: on the back end that it begins on, then on the tier's others in order, until one gives a picture that can
//! be kept.

use crate::backoff;
use crate::breaker::{Event, Pass};
use crate::budget::Budget;
use crate::dispatcher::Dispatcher;
use crate::figures::TryOutcome;
use crate::generator::{GenerateError, Order, Picture};
use crate::job::{JobContext, Route, RunJob};
use crate::moves::MoveOn;
use crate::observer::Tries;
use crate::permit::Granted;
use crate::progress::Progress;
use actix::Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::job::{Brief, Job, ResultImage};
use tintype_storage::domain::tier::Tier;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// How long a back end is waited for that is asked whether it holds work. One that loads a model may be slow to answer, and
/// its work would be made a second time elsewhere.
const HOLDER_PATIENCE: Duration = Duration::from_secs(60);

/// The picture of a run, or why there is none.
pub async fn make(
    job: Job,
    context: Arc<JobContext>,
    progress: Progress,
    tries: Tries,
    start: RunJob,
    dispatcher: Addr<Dispatcher>,
) -> Result<ResultImage, GenerateError> {
    let mut budget = Budget::new(context.run_timeout);
    let Some(order) = budget.work(order_for(&job, &context, progress)).await else {
        return Err(budget.over());
    };
    let order = order?;
    let routes = context.routes.of(job.tier);
    let mut ahead: Vec<usize> = (0..routes.len()).collect();
    let mut granted = start.granted;
    if start.resumed
        && routes.len() > 1
        && let Some(holder) = holder(&order, routes, &context).await
        && holder != granted.route
    {
        // The place that was found is let go, for the work is elsewhere.
        drop(granted);
        ahead.sort_by_key(|at| *at != holder);
        granted = next_place(job.tier, &ahead, &dispatcher).await;
    }
    loop {
        ahead.retain(|at| *at != granted.route);
        let route = &routes[granted.route];
        let figures = &context.figures.backends[route.backend];
        let others_up = || ahead.iter().any(|it| is_up(&context, &routes[*it]));
        let tried = try_backend(
            &order,
            route,
            &mut granted.pass,
            &others_up,
            &context,
            &tries,
            &mut budget,
        );
        let outcome = match tried.await {
            Ok(picture) => {
                let kept = budget.work(context.gallery.keep(&job, picture)).await;
                let kept = kept.unwrap_or_else(|| Err(budget.over()));
                let unusable = u64::from(kept.is_err());
                figures.unusable.fetch_add(unusable, Ordering::Relaxed);
                kept
            }
            Err(error) => Err(error),
        };
        let error = match outcome {
            Ok(image) => return Ok(image),
            Err(error) => error,
        };
        if !error.is_final() {
            figures.given_up.fetch_add(1, Ordering::Relaxed);
        }
        if error.is_final() || ahead.is_empty() || budget.left().is_zero() {
            return Err(error);
        }
        let backend = &context.backends[route.backend].name;
        tracing::warn!(job = %job.id, %backend, %error, "a back end gave no picture");
        // Given back before another is waited for: no run holds one place and waits for another.
        drop(granted);
        granted = next_place(job.tier, &ahead, &dispatcher).await;
    }
}

/// Waits for a place at the first of these routes that is not passed over.
async fn next_place(tier: Tier, ahead: &[usize], dispatcher: &Addr<Dispatcher>) -> Granted {
    let (reply, granted) = oneshot::channel();
    dispatcher.do_send(MoveOn {
        tier,
        ahead: ahead.to_vec(),
        reply,
    });
    match granted.await {
        Ok(granted) => granted,
        // The dispatcher has ended with the process, and so does this run: it is made again after the restart.
        Err(_) => std::future::pending().await,
    }
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

/// Tries one back end, again after what may pass.
///
/// It is left to another that is up once it is passed over itself, or asks to be left alone for longer than a job is kept
/// waiting.
async fn try_backend(
    order: &Order,
    route: &Route,
    pass: &mut Pass,
    others_up: &dyn Fn() -> bool,
    context: &JobContext,
    tries: &Tries,
    budget: &mut Budget,
) -> Result<Picture, GenerateError> {
    let backend = &context.backends[route.backend];
    let figures = &context.figures.backends[route.backend];
    let note = |began: Instant, outcome: TryOutcome| {
        figures.tries[outcome as usize].add_span(began.elapsed());
        if context.observer.is_some() {
            tries.add(&backend.name, began.elapsed(), outcome);
        }
    };
    let order = for_route(order, route);
    let mut repeats = 0;
    loop {
        order.progress.forget();
        let began = Instant::now();
        // What is late is dropped with the future: no answer of a try that was given up can arrive.
        let answer = timeout(backend.timeout, backend.generator.generate(order.clone()));
        let error = match budget.work(answer).await {
            Some(Ok(Ok(picture))) => {
                note(began, TryOutcome::Picture);
                pass.record(Event::Answered, Instant::now());
                return Ok(picture);
            }
            Some(Ok(Err(error))) => error,
            Some(Err(_)) => GenerateError::TimedOut(format!(
                "the image generator gave no answer within {} s",
                backend.timeout.as_secs()
            )),
            // The time of the run, and not that of the try: it says nothing of the back end.
            None => return Err(budget.over()),
        };
        note(began, TryOutcome::of(&error));
        if let Some(event) = error.event() {
            pass.record(event, Instant::now());
        }
        let asked = match &error {
            GenerateError::Transient { retry_after, .. } => *retry_after,
            _ => None,
        };
        let wait = backoff::wait(repeats + 1, asked, (context.jitter)());
        let leave = others_up() && (!is_up(context, route) || wait > backoff::LONGEST);
        let again = error.may_pass() && repeats < backend.retries && !leave;
        if !again || !budget.wait(wait).await {
            return Err(error);
        }
        repeats += 1;
        figures.retries.fetch_add(1, Ordering::Relaxed);
    }
}
