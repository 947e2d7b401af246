//! The attempts of a run: on its first backend, then on the tier's other backends in order, until one returns an image that can be stored.

use super::backend_attempts::{Attempts, task_on};
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
    let routes = context.pool.routes(job.tier);
    let mut run = FailoverRun {
        job,
        task: task?,
        routes,
        context,
        log,
        deadline,
        untried: (0..routes.len()).collect(),
        has_reached: false,
        passed_on: None,
    };
    if is_resumed && routes.len() > 1 {
        lease = run.move_to_earlier_work(lease).await;
    }
    loop {
        match run.try_backend(&mut lease).await {
            Ok(image) => return Ok(image),
            Err((step, worst)) => lease = run.move_on(lease, step, worst).await?,
        }
    }
}

/// A run of a job over the backends of its tier.
struct FailoverRun<'a> {
    job: &'a Job,
    task: GenerationTask,
    routes: &'a [Route],
    context: &'a DispatchContext,
    log: &'a RunLog,
    deadline: RunDeadline,
    /// The routes that the run has not tried, by index.
    untried: Vec<usize>,
    /// Has a backend received a request of the run?
    has_reached: bool,
    /// The worst error of the backends that the run has left.
    passed_on: Option<GenerateError>,
}

impl<'a> FailoverRun<'a> {
    /// Moves to the backend that holds the work of an earlier run, if there is one.
    async fn move_to_earlier_work(&mut self, lease: BackendLease) -> BackendLease {
        let found = self.find_earlier_work().await;
        let Some(route) = found.filter(|it| *it != lease.route) else {
            return lease;
        };
        // Dropped before the other lease is awaited: no run holds one slot and waits for another.
        drop(lease);
        self.untried.sort_by_key(|at| *at != route);
        self.lease_on_untried().await
    }

    /// The route whose backend holds the work of an earlier run. A paused backend would not get the run.
    async fn find_earlier_work(&self) -> Option<usize> {
        let pool = &self.context.pool;
        let routes = self.routes.iter().enumerate();
        for (at, route) in routes.filter(|(_, it)| !pool.is_paused(it)) {
            let generator = &pool.backend(route).generator;
            let holds = generator.has_earlier_work(task_on(&self.task, route));
            if timeout(EARLIER_WORK_TIMEOUT, holds).await == Ok(true) {
                return Some(at);
            }
        }
        None
    }

    /// Tries one backend until it returns an image that can be stored. Otherwise returns the next step, which is no repeat, and the
    /// worst error.
    async fn try_backend(
        &mut self,
        lease: &mut BackendLease,
    ) -> Result<ResultImage, (NextStep, GenerateError)> {
        self.untried.retain(|at| *at != lease.route);
        let attempts = Attempts {
            task: &self.task,
            route: &self.routes[lease.route],
            context: self.context,
            log: self.log,
        };
        let mut repeats = 0;
        loop {
            let deadline = &mut self.deadline;
            let (error, may_repeat) = match attempts.attempt_once(lease, deadline).await {
                Ok(image) => match self
                    .log
                    .store(attempts.store(image, self.job, lease, deadline))
                    .await
                {
                    Ok(image) => return Ok(image),
                    Err(error) => (error, false),
                },
                Err(error) => (error, repeats < attempts.backend().retries),
            };
            self.has_reached |= error.has_reached_backend();
            let jitter = (self.context.jitter)();
            let wait = backoff::delay(repeats + 1, error.retry_after(), jitter);
            let mut next = self.decide(&error, lease.route, may_repeat.then_some(wait));
            if let NextStep::Repeat(wait) = next.0 {
                self.deadline.wait(wait).await;
                if !self.context.pool.is_paused(attempts.route) {
                    repeats += 1;
                    attempts.stats().retries.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                // The pause began during the wait.
                next = self.decide(&error, lease.route, Some(Duration::ZERO));
            }
            if error.allows_failover() {
                attempts.stats().given_up.fetch_add(1, Ordering::Relaxed);
            }
            return Err(next);
        }
    }

    /// The next step after an error on this route, and the worst of it and the errors of the backends that the run has left.
    fn decide(
        &self,
        error: &GenerateError,
        route: usize,
        repeat_after: Option<Duration>,
    ) -> (NextStep, GenerateError) {
        let worst = match &self.passed_on {
            Some(earlier) if earlier.rank() > error.rank() => earlier,
            _ => error,
        };
        let (now, pool) = (Instant::now(), &self.context.pool);
        let admits = |at: usize| pool.admits(&self.routes[at], now);
        let is_paused = |at: usize| pool.is_paused(&self.routes[at]);
        let state = RunState {
            repeat_after,
            time_left: self.deadline.time_left(),
            is_up: admits(route),
            is_paused: is_paused(route),
            is_all_paused: (0..self.routes.len()).all(is_paused),
            has_untried: self.untried.iter().any(|at| !is_paused(*at)),
            is_untried_up: self.untried.iter().any(|at| admits(*at)),
            is_any_up: (0..self.routes.len()).any(admits),
            is_unreachable: !self.has_reached && matches!(worst, GenerateError::Unreachable(_)),
        };
        (next_step(error, &state), worst.clone())
    }

    /// Waits for a lease on another backend, or returns the error of the run.
    async fn move_on(
        &mut self,
        lease: BackendLease,
        step: NextStep,
        worst: GenerateError,
    ) -> Result<BackendLease, GenerateError> {
        if step == NextStep::Fail {
            return Err(worst);
        }
        // The cut-off ends the run, so that it does not ask another backend in vain.
        if self.context.cut_off.is_triggered() {
            return std::future::pending().await;
        }
        let job = self.job.id;
        let backend = &self.context.pool.backend(&self.routes[lease.route]).name;
        drop(lease);
        let lease = if step == NextStep::AwaitBackend {
            tracing::info!(%job, %backend, "the run waits until a backend can be used");
            self.untried = (0..self.routes.len()).collect();
            // This wait counts against the deadline, because no other job causes it.
            let lease = self.lease_on_untried();
            match self.deadline.work(lease).await {
                Some(lease) => lease,
                None => return Err(worst),
            }
        } else {
            tracing::info!(%job, %backend, "the run fails over");
            self.lease_on_untried().await
        };
        self.passed_on = Some(worst);
        Ok(lease)
    }

    fn lease_on_untried(&self) -> impl Future<Output = BackendLease> + use<'a> {
        let (account, tier) = (self.job.account, self.job.tier);
        let kind = LeaseKind::Failover(self.untried.clone());
        wait_for_lease(self.context, account, tier, kind)
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
