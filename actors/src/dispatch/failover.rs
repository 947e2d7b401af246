//! The tries of a run: on its first backend, then on the tier's other backends in order, until one returns an image that can be stored.

use super::backoff;
use super::context::DispatchContext;
use super::failures::FailedTry;
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::{BackendError, BackendLease, BreakerEvent, Route};
use crate::ports::{
    BreakerEffect, GenerateError, GeneratedImage, GenerationTask, Progress, TryOutcome, with_cause,
};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::job::{Job, PromptRef, ResultImage};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tokio::time::{Instant, timeout};

/// The time in which a backend must answer whether it holds earlier work. A backend that loads a model is slow to answer, and without
/// its answer another backend would repeat the work.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(60);

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
    if is_resumed
        && routes.len() > 1
        && let Some(holder) = find_holder(&task, routes, context).await
        && holder != lease.route
    {
        // Dropped before the other lease is awaited: no run holds one slot and waits for another.
        drop(lease);
        untried.sort_by_key(|at| *at != holder);
        lease = next_lease(context, job.tier, &untried).await;
    }
    loop {
        untried.retain(|at| *at != lease.route);
        let route = &routes[lease.route];
        let stats = &context.process.stats.backends[route.backend];
        let is_another_up = || {
            let now = Instant::now();
            untried
                .iter()
                .any(|it| context.pool.admits(&routes[*it], now))
        };
        let tries = Tries {
            task: task_on(&task, route),
            route,
            context,
            log,
            is_another_up: &is_another_up,
        };
        let error = match tries.run(&mut lease, &mut deadline).await {
            Ok(image) => {
                let stored = deadline.work(context.image_store.keep(job, image)).await;
                match stored.unwrap_or_else(|| Err(deadline.exceeded())) {
                    Ok(image) => {
                        let backend = Some(context.pool.backend(route).name.clone());
                        warn_if_small(job, backend.as_deref(), &image, task.pixels);
                        return Ok(ResultImage { backend, ..image });
                    }
                    Err(error) => {
                        stats.unusable.fetch_add(1, Ordering::Relaxed);
                        // The backend's image is unusable, unless the store failed.
                        if error.outcome() == TryOutcome::Broken {
                            tries.failed(&error, error.to_string());
                        }
                        error
                    }
                }
            }
            Err(error) => error,
        };
        if error.allows_failover() {
            stats.given_up.fetch_add(1, Ordering::Relaxed);
        }
        if !error.allows_failover() {
            return Err(error);
        }
        let error = match passed_on {
            Some(earlier) if earlier.rank() > error.rank() => earlier,
            _ => error,
        };
        if untried.is_empty() || deadline.time_left().is_zero() {
            return Err(error);
        }
        passed_on = Some(error);
        let backend = &context.pool.backend(route).name;
        tracing::info!(job = %job.id, %backend, "the run fails over");
        drop(lease);
        lease = next_lease(context, job.tier, &untried).await;
    }
}

/// Waits for a lease on the first of these routes whose breaker admits it.
pub async fn next_lease(context: &DispatchContext, tier: Tier, routes: &[usize]) -> BackendLease {
    match context.pool.request_lease(tier, routes.to_vec()).await {
        Ok(lease) => lease,
        // The dispatcher has stopped with the process. The job runs again after the restart.
        Err(_) => std::future::pending().await,
    }
}

/// Waits for a lease on any of the tier's backends.
pub async fn first_lease(context: &DispatchContext, tier: Tier) -> BackendLease {
    let routes: Vec<usize> = (0..context.pool.routes(tier).len()).collect();
    next_lease(context, tier, &routes).await
}

/// The route whose backend holds the work of an earlier run.
async fn find_holder(
    task: &GenerationTask,
    routes: &[Route],
    context: &DispatchContext,
) -> Option<usize> {
    for (at, route) in routes.iter().enumerate() {
        let generator = &context.pool.backend(route).generator;
        let holds = generator.holds(task_on(task, route));
        if timeout(HOLDER_TIMEOUT, holds).await == Ok(true) {
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
        PromptRef::Stored(key) => context.image_store.read_prompt(key.clone()).await?.prompt,
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

/// The tries on one backend.
struct Tries<'a> {
    task: GenerationTask,
    route: &'a Route,
    context: &'a DispatchContext,
    log: &'a RunLog,
    /// Does the breaker of an untried backend admit runs?
    is_another_up: &'a dyn Fn() -> bool,
}

impl Tries<'_> {
    /// Tries the backend, and repeats the try after transient failures.
    ///
    /// If another backend is up, the run leaves this one early: when its breaker opens, or when it asks for a wait longer than the
    /// longest backoff.
    async fn run(
        &self,
        lease: &mut BackendLease,
        deadline: &mut RunDeadline,
    ) -> Result<GeneratedImage, GenerateError> {
        let backend = self.context.pool.backend(self.route);
        let mut repeats = 0;
        loop {
            self.task.progress.forget();
            let began = Instant::now();
            // A timeout drops the future, so a late answer cannot arrive.
            let answer = timeout(
                backend.timeout,
                backend.generator.generate(self.task.clone()),
            );
            let (answer, cause) = with_cause(deadline.work(answer)).await;
            let (error, cause) = match answer {
                Some(Ok(Ok(image))) => {
                    if let Some(cause) = cause {
                        let job = &self.task.job;
                        tracing::warn!(%job, backend = backend.name, cause, "the try succeeded despite a fault");
                    }
                    self.answered();
                    self.record(began, TryOutcome::Image);
                    lease.pass.record(BreakerEvent::Succeeded, Instant::now());
                    return Ok(image);
                }
                Some(Ok(Err(error))) => {
                    let cause = cause.unwrap_or_else(|| error.to_string());
                    (error, cause)
                }
                Some(Err(_)) => timed_out(backend.timeout, cause),
                // The deadline of the run, not that of the try, has passed: this does not count against the backend.
                None => {
                    let (job, error) = (&self.task.job, deadline.exceeded());
                    tracing::warn!(%job, backend = backend.name, %error, "the run used up its time");
                    return Err(error);
                }
            };
            self.record(began, error.outcome());
            if !error.outcome().is_failure() && error.outcome() != TryOutcome::NotAsked {
                self.answered();
            }
            self.failed(&error, cause);
            match error.breaker_effect() {
                BreakerEffect::Success => {
                    lease.pass.record(BreakerEvent::Succeeded, Instant::now())
                }
                BreakerEffect::Failure => {
                    let failed = BreakerEvent::Failed(error.retry_after());
                    lease.pass.record(failed, Instant::now());
                }
                BreakerEffect::None => {}
            }
            let jitter = (self.context.jitter)();
            let wait = backoff::wait(repeats + 1, error.retry_after(), jitter);
            let is_up = self.context.pool.admits(self.route, Instant::now());
            let leaves = (!is_up || wait > backoff::LONGEST) && (self.is_another_up)();
            let retries = error.is_retryable() && repeats < backend.retries && !leaves;
            if !retries || !deadline.wait(wait).await {
                return Err(error);
            }
            repeats += 1;
            let stats = &self.context.process.stats.backends[self.route.backend];
            stats.retries.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn now(&self) -> Timestamp {
        self.context.accounts.now()
    }

    fn answered(&self) {
        self.context.pool.contact(self.route).answered(self.now());
    }

    /// Logs a failed try, and records it for the operator.
    fn failed(&self, error: &GenerateError, cause: String) {
        let (job, outcome) = (&self.task.job, error.outcome());
        let (backend, word) = (&self.context.pool.backend(self.route).name, outcome.word());
        match outcome {
            // Without the cause, which may contain the caller's text. The job's error has it.
            TryOutcome::Blocked => tracing::info!(%job, backend, "the backend blocked the content"),
            TryOutcome::NotAsked => {
                tracing::info!(%job, backend, cause, "the backend was not asked");
            }
            _ => tracing::warn!(%job, backend, outcome = word, cause, "a try failed"),
        }
        if matches!(outcome, TryOutcome::Blocked | TryOutcome::NotAsked) {
            return;
        }
        let at = self.now();
        let error = BackendError { at, cause };
        self.log.fail(FailedTry {
            backend: backend.clone(),
            error: error.clone(),
        });
        if outcome.is_failure() {
            self.context.pool.contact(self.route).failed(error);
        }
    }

    fn record(&self, began: Instant, outcome: TryOutcome) {
        let stats = &self.context.process.stats.backends[self.route.backend];
        stats.tries[outcome as usize].add_duration(began.elapsed());
        stats.recent.add(self.now(), began.elapsed(), outcome);
        if self.context.process.observer.is_some() {
            let backend = &self.context.pool.backend(self.route).name;
            self.log.add(backend, began.elapsed(), outcome);
        }
    }
}

/// The caller pays for a resolution. The operator must know if a backend generates less than half of its pixels.
fn warn_if_small(job: &Job, backend: Option<&str>, image: &ResultImage, wanted: (u32, u32)) {
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    if area((image.width, image.height)) < area(wanted) / 2 {
        let stored = format!("{}x{}", image.width, image.height);
        let wanted = format!("{}x{}", wanted.0, wanted.1);
        tracing::warn!(job = %job.id, backend, stored, wanted, "the image is much smaller than requested");
    }
}

/// The error of a try without an answer, and its cause, with an earlier fault of the try.
fn timed_out(after: Duration, fault: Option<String>) -> (GenerateError, String) {
    let seconds = after.as_secs();
    let error = format!("the image generator gave no answer within {seconds} s");
    let cause = match fault {
        Some(fault) => format!("no answer within {seconds} s; before that: {fault}"),
        None => format!("no answer within {seconds} s"),
    };
    (GenerateError::TimedOut(error), cause)
}
