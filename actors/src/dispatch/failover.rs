//! The attempts of a run: on its first backend, then on the tier's other backends in order, until one returns an image that can be stored.

use super::backend_attempts::{Attempts, task_on};
use super::backoff;
use super::context::DispatchContext;
use super::lease_wait::{LeaseWait, NoLease};
use super::next_step::{NextStep, RunState, next_step};
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::{BackendLease, LeaseKind, Route};
use crate::ports::{GenerateError, GenerationTask, Progress};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::job::{Job, Origin, PromptRef, ResultImage};
use tokio::time::{Instant, timeout};

/// The time in which a backend must answer whether it holds earlier work. A backend that loads a model is slow to answer, and without
/// its answer another backend would repeat the work.
const EARLIER_WORK_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a run ends without an image.
pub enum RunError {
    Failed(GenerateError),
    /// An orderly stop interrupts the run while it waits for the end of a pause.
    CutOff,
}

impl From<GenerateError> for RunError {
    fn from(error: GenerateError) -> Self {
        Self::Failed(error)
    }
}

/// Generates and stores the image of a job.
pub async fn generate(
    job: &Job,
    mut lease: BackendLease,
    is_resumed: bool,
    context: &DispatchContext,
    progress: Progress,
    log: &RunLog,
    mut deadline: RunDeadline,
) -> Result<ResultImage, RunError> {
    let Some(task) = deadline.work(task_for(job, context, progress)).await else {
        return Err(deadline.exceeded().into());
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
        // An earlier run may have reached a backend.
        has_waiting_caller: job.origin == Origin::Synchronous && !is_resumed,
        passed_on: None,
    };
    if is_resumed && routes.len() > 1 {
        lease = run.move_to_earlier_work(lease).await?;
    }
    loop {
        // The pause may have begun since the lease was granted.
        while context.pool.is_paused(&routes[lease.route]) {
            lease = run.leave_paused(lease).await?;
        }
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
    /// Does a caller wait on a connection for the first run of the job?
    has_waiting_caller: bool,
    /// The worst error of the backends that the run has left.
    passed_on: Option<GenerateError>,
}

impl FailoverRun<'_> {
    /// Moves to the backend that holds the work of an earlier run, if there is one.
    async fn move_to_earlier_work(
        &mut self,
        lease: BackendLease,
    ) -> Result<BackendLease, RunError> {
        let found = self.find_earlier_work().await;
        let Some(route) = found.filter(|it| *it != lease.route) else {
            return Ok(lease);
        };
        // Dropped before the other lease is awaited: no run holds one slot and waits for another.
        drop(lease);
        self.untried.sort_by_key(|at| *at != route);
        self.lease_on_untried(false).await
    }

    /// Gives up a lease on a backend that was paused before the run tried it.
    async fn leave_paused(&mut self, lease: BackendLease) -> Result<BackendLease, RunError> {
        drop(lease);
        match self.passed_on {
            Some(_) => self.lease_on_untried(false).await,
            // As the dispatcher selected the first one, because an unweighted backend is in reserve.
            None => self.lease(LeaseKind::Start(None), false).await,
        }
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
            has_waiting_caller: self.has_waiting_caller,
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
    ) -> Result<BackendLease, RunError> {
        if step == NextStep::Fail {
            return Err(worst.into());
        }
        // The cut-off ends the run, so that it does not ask another backend in vain.
        if self.context.cut_off.is_triggered() {
            return std::future::pending().await;
        }
        let job = self.job.id;
        let backend = &self.context.pool.backend(&self.routes[lease.route]).name;
        drop(lease);
        self.passed_on = Some(worst);
        // No other job causes a wait while no backend can be used.
        let counts_as_work = step == NextStep::AwaitBackend;
        if counts_as_work {
            tracing::info!(%job, %backend, "the run waits until a backend can be used");
            self.untried = (0..self.routes.len()).collect();
        } else {
            tracing::info!(%job, %backend, "the run fails over");
        }
        self.lease_on_untried(counts_as_work).await
    }

    async fn lease_on_untried(&mut self, counts_as_work: bool) -> Result<BackendLease, RunError> {
        let kind = LeaseKind::Failover(self.untried.clone());
        self.lease(kind, counts_as_work).await
    }

    /// Waits for a lease, or returns the error of the run.
    async fn lease(
        &mut self,
        kind: LeaseKind,
        counts_as_work: bool,
    ) -> Result<BackendLease, RunError> {
        let wait = LeaseWait {
            account: self.job.account,
            tier: self.job.tier,
            kind,
            counts_as_work,
        };
        let lease = wait.until(&mut self.deadline, self.context).await;
        lease.map_err(|reason| match reason {
            NoLease::Stopping => RunError::CutOff,
            NoLease::TimedOut => {
                let worst = self.passed_on.clone();
                worst.unwrap_or_else(|| self.deadline.exceeded()).into()
            }
        })
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
