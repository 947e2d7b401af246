//! The tries of a run: on its first backend, then on the tier's other backends in order, until one returns an image that can be stored.

use super::backend_tries::{Tries, task_on};
use super::backoff;
use super::context::DispatchContext;
use super::next_step::{NextStep, RunState, next_step};
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::{BackendLease, LeaseKind, Route};
use crate::ports::{GenerateError, GenerationTask, Progress};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::{Job, PromptRef, ResultImage};
use tintype_storage::domain::tier::Tier;
use tokio::time::{Instant, timeout};

/// The time in which a backend must answer whether it holds earlier work. A backend that loads a model is slow to answer, and without
/// its answer another backend would repeat the work.
const EARLIER_WORK_TIMEOUT: Duration = Duration::from_secs(60);

/// Generates and stores the image of a job.
pub async fn generate(
    job: &Job,
    mut lease: BackendLease,
    is_resumed: bool,
    context: &DispatchContext,
    progress: Progress,
    log: &RunLog,
) -> Result<ResultImage, GenerateError> {
    let mut deadline = RunDeadline::new(context.run_timeout);
    let Some(task) = deadline.work(task_for(job, context, progress)).await else {
        return Err(deadline.exceeded());
    };
    let task = task?;
    let routes = context.pool.routes(job.tier);
    let mut untried: Vec<usize> = (0..routes.len()).collect();
    let mut passed_on: Option<GenerateError> = None;
    let mut has_reached = false;
    if is_resumed
        && routes.len() > 1
        && let Some(route_with_work) = find_route_with_earlier_work(&task, routes, context).await
        && route_with_work != lease.route
    {
        // Dropped before the other lease is awaited: no run holds one slot and waits for another.
        drop(lease);
        untried.sort_by_key(|at| *at != route_with_work);
        let kind = LeaseKind::Failover(untried.clone());
        lease = wait_for_lease(context, job.account, job.tier, kind).await;
    }
    let mut repeats = 0;
    loop {
        untried.retain(|at| *at != lease.route);
        let route = &routes[lease.route];
        let tries = Tries {
            task: &task,
            route,
            context,
            log,
        };
        let (error, may_repeat) = match tries.try_once(&mut lease, &mut deadline).await {
            Ok(image) => match log.store(tries.store(image, job, &mut deadline)).await {
                Ok(image) => return Ok(image),
                Err(error) => (error, false),
            },
            Err(error) => (error, repeats < tries.backend().retries),
        };
        let wait = backoff::delay(repeats + 1, error.retry_after(), (context.jitter)());
        let (now, pool) = (Instant::now(), &context.pool);
        let admits = |at: usize| pool.admits(&routes[at], now);
        has_reached |= error.has_reached_backend();
        let worst = match &passed_on {
            Some(earlier) if earlier.rank() > error.rank() => earlier.clone(),
            _ => error.clone(),
        };
        let state = RunState {
            repeat_after: may_repeat.then_some(wait),
            time_left: deadline.time_left(),
            is_up: admits(lease.route),
            has_untried: !untried.is_empty(),
            is_untried_up: untried.iter().any(|at| admits(*at)),
            is_any_up: (0..routes.len()).any(admits),
            is_unreachable: !has_reached && matches!(worst, GenerateError::Unreachable(_)),
        };
        let step = next_step(&error, &state);
        if let NextStep::Repeat(wait) = step {
            deadline.wait(wait).await;
            repeats += 1;
            tries.stats().retries.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        if error.allows_failover() {
            tries.stats().given_up.fetch_add(1, Ordering::Relaxed);
        }
        if step == NextStep::Fail {
            return Err(worst);
        }
        // The cut-off ends the run, so that it does not ask another backend in vain.
        if context.cut_off.is_triggered() {
            return std::future::pending().await;
        }
        drop(lease);
        let backend = &tries.backend().name;
        let wait_for_lease = |untried: &[usize]| {
            let kind = LeaseKind::Failover(untried.to_vec());
            wait_for_lease(context, job.account, job.tier, kind)
        };
        lease = match step {
            NextStep::AwaitBackend => {
                tracing::info!(job = %job.id, %backend, "the run waits until a backend can be reached");
                untried = (0..routes.len()).collect();
                // This wait counts against the deadline, because no other job causes it.
                match deadline.work(wait_for_lease(&untried)).await {
                    Some(lease) => lease,
                    None => return Err(worst),
                }
            }
            _ => {
                tracing::info!(job = %job.id, %backend, "the run fails over");
                wait_for_lease(&untried).await
            }
        };
        repeats = 0;
        passed_on = Some(worst);
    }
}

/// Waits for a lease on one of the tier's backends.
pub async fn wait_for_lease(
    context: &DispatchContext,
    account: AccountId,
    tier: Tier,
    kind: LeaseKind,
) -> BackendLease {
    match context.pool.request_lease(account, tier, kind).await {
        Ok(lease) => lease,
        // The dispatcher has stopped with the process. The job runs again after the restart.
        Err(_) => std::future::pending().await,
    }
}

/// The route whose backend holds the work of an earlier run.
async fn find_route_with_earlier_work(
    task: &GenerationTask,
    routes: &[Route],
    context: &DispatchContext,
) -> Option<usize> {
    for (at, route) in routes.iter().enumerate() {
        let generator = &context.pool.backend(route).generator;
        let holds = generator.has_earlier_work(task_on(task, route));
        if timeout(EARLIER_WORK_TIMEOUT, holds).await == Ok(true) {
            return Some(at);
        }
    }
    None
}

async fn task_for(
    job: &Job,
    context: &DispatchContext,
    progress: Progress,
) -> Result<GenerationTask, GenerateError> {
    let prompt = match &job.prompt {
        PromptRef::Inline(words) => words.prompt.clone(),
        PromptRef::Stored(key) => context.job_objects.read_prompt(key.clone()).await?.prompt,
    };
    Ok(GenerationTask {
        job: job.id,
        account: job.account,
        key: job.key,
        tier: job.tier,
        model: None,
        prompt,
        ratio: job.ratio,
        resolution: job.resolution,
        pixels: job.ratio.pixels(job.tier, job.resolution),
        inputs: job.inputs.clone(),
        has_mask: job.options().has_mask,
        background: job.options().background,
        progress,
        cut_off: context.cut_off.receiver(),
    })
}
