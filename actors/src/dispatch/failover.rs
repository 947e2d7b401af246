//! The tries of a run: on its first backend, then on the tier's other backends in order, until one returns an image that can be stored.

use super::backend_tries::Tries;
use super::context::DispatchContext;
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::{BackendLease, LeaseKind, Route};
use crate::ports::{GenerateError, GenerationTask, Progress};
use std::cell::Cell;
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
    let has_reached = Cell::new(false);
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
    loop {
        untried.retain(|at| *at != lease.route);
        let route = &routes[lease.route];
        let tries = Tries {
            task: task_on(&task, route),
            route,
            untried: &untried,
            has_reached: &has_reached,
            context,
            log,
        };
        let image = match tries.generate(&mut lease, &mut deadline).await {
            Ok(image) => log.store(tries.store(image, job, &mut deadline)).await,
            Err(error) => Err(error),
        };
        let error = match image {
            Ok(image) => return Ok(image),
            Err(error) if !error.allows_failover() => return Err(error),
            Err(error) => error,
        };
        tries.stats().given_up.fetch_add(1, Ordering::Relaxed);
        let error = match passed_on {
            Some(earlier) if earlier.rank() > error.rank() => earlier,
            _ => error,
        };
        let is_off = matches!(error, GenerateError::Unreachable(_)) && !has_reached.get();
        let admits = |it: &Route| context.pool.admits(it, Instant::now());
        // While all breakers are open, a job that no backend has seen waits for a probe, as the queued jobs do.
        let waits = is_off && untried.is_empty() && !routes.iter().any(admits);
        if (untried.is_empty() && !waits) || deadline.time_left().is_zero() {
            return Err(error);
        }
        // The cut-off ends the run, so that it does not ask another backend in vain.
        if context.cut_off.is_triggered() {
            return std::future::pending().await;
        }
        let backend = &context.pool.backend(route).name;
        match waits {
            true => {
                tracing::info!(job = %job.id, %backend, "the run waits until a backend can be reached");
                untried = (0..routes.len()).collect();
            }
            false => tracing::info!(job = %job.id, %backend, "the run fails over"),
        }
        drop(lease);
        let kind = LeaseKind::Failover(untried.clone());
        let granted = wait_for_lease(context, job.account, job.tier, kind);
        let granted = match waits {
            // This wait counts against the deadline, because no other job causes it.
            true => deadline.work(granted).await,
            false => Some(granted.await),
        };
        let Some(granted) = granted else {
            return Err(error);
        };
        lease = granted;
        passed_on = Some(error);
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

fn task_on(task: &GenerationTask, route: &Route) -> GenerationTask {
    GenerationTask {
        model: route.model.clone(),
        ..task.clone()
    }
}
