//! The job actor: owns one job from its turn until the job is terminal.
//!
//! It runs under actix's supervisor. When its context stops, or a step panics, the supervisor restarts the same object and the
//! interrupted step runs again. When the whole task ends, as after a panic in a message handler, the [`Turn`] is dropped, which puts the
//! job back to the front of its queue. Only the account actor decides the state of the job, so a step that runs twice changes the job
//! once.

use super::context::DispatchContext;
use super::lease_wait::{LeaseWait, NoLease};
use super::run::{log_failure, run};
use super::run_deadline::RunDeadline;
use crate::backends::{BackendLease, LeaseKind};
use crate::queue::{QueuedJob, Turn};
use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Supervised, Supervisor,
    WrapFuture,
};
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::job::{Job, JobEvent, JobState, TransitionError};
use tintype_storage::store::EventError;
use tokio::time::sleep;

/// A restarted actor waits this long, so that a step that panics each time does not keep the thread busy.
const RESTART_DELAY: Duration = Duration::from_millis(100);

enum State {
    /// Waits for the account actor to begin a run.
    Starting,
    Running,
    /// Waits for the account actor to apply the event that ends the run.
    Ending(Rc<RunResult>),
}

struct RunResult {
    /// The job at the beginning of the run, with its input images.
    job: Job,
    event: JobEvent,
}

pub struct JobActor {
    job: QueuedJob,
    context: Arc<DispatchContext>,
    /// Held until the job is terminal, or left to the restart of the process.
    turn: Option<Turn>,
    /// For the first run; a restarted actor asks for a new one. So does the actor of a job that has begun a run before, if its turn came
    /// while all backends of its model were paused.
    lease: Option<BackendLease>,
    state: State,
    /// Has the supervisor restarted the actor in this state?
    was_restarted: bool,
    /// The actor's own address, held as long as the turn: the supervisor restarts an actor only while an address exists.
    address: Option<Addr<Self>>,
}

impl JobActor {
    /// Starts the actor of a job whose turn has come.
    pub fn start(turn: Turn, lease: Option<BackendLease>, context: Arc<DispatchContext>) {
        Supervisor::start(move |ctx: &mut Context<Self>| Self {
            job: turn.job(),
            context,
            turn: Some(turn),
            lease,
            state: State::Starting,
            was_restarted: false,
            address: Some(ctx.address()),
        });
    }

    fn begin(&mut self, ctx: &mut Context<Self>) {
        self.state = State::Starting;
        let (job, context, lease) = (self.job, Arc::clone(&self.context), self.lease.take());
        let was_restarted = self.was_restarted;
        let start = async move { begin(job, lease, was_restarted, &context).await };
        self.step(ctx, start, |actor, started, ctx| match started {
            Start::Run(job, lease, deadline) => actor.run(*job, lease, deadline, ctx),
            Start::Nothing(terminal) => actor.finish(terminal.map(|job| *job)),
        });
    }

    fn run(
        &mut self,
        job: Job,
        lease: BackendLease,
        deadline: RunDeadline,
        ctx: &mut Context<Self>,
    ) {
        self.state = State::Running;
        let context = Arc::clone(&self.context);
        let was_begun_before = self.turn.as_ref().is_some_and(Turn::is_resumed);
        let is_resumed = was_begun_before || self.was_restarted;
        let run = async move {
            let (job, event) = run(job, lease, deadline, is_resumed, &context).await;
            Rc::new(RunResult { job, event })
        };
        self.step(ctx, run, |actor, result, ctx| {
            actor.state = State::Ending(result);
            actor.was_restarted = false;
            actor.end(ctx);
        });
    }

    fn end(&mut self, ctx: &mut Context<Self>) {
        let State::Ending(result) = &self.state else {
            return;
        };
        let is_cut_off = result.event == JobEvent::CutOff;
        // A cut-off subtracts its run from the count. Applied twice it would subtract another one.
        if is_cut_off && self.was_restarted {
            return self.finish(None);
        }
        let (job, event) = (self.job, result.event.clone());
        let (context, was_restarted) = (Arc::clone(&self.context), self.was_restarted);
        let result = Rc::clone(result);
        let end = async move { apply(job, event, was_restarted, &context).await };
        self.step(ctx, end, move |actor, is_applied, _| {
            actor.finish((is_applied && !is_cut_off).then(|| result.job.clone()));
        });
    }

    /// Ends the turn and the actor. A terminal job no longer needs its input images.
    fn finish(&mut self, terminal: Option<Job>) {
        if let Some(turn) = self.turn.take() {
            turn.end();
        }
        self.address = None;
        if let Some(job) = terminal {
            let job_objects = Arc::clone(&self.context.job_objects);
            // A separate task, so that a slow or failing object store neither delays a stop nor harms this actor. Maintenance deletes
            // orphaned inputs.
            tokio::task::spawn_local(async move { job_objects.delete_inputs(&job).await });
        }
    }

    /// Runs `step`, then calls `then`. A panic in the step stops the context, and the supervisor restarts the actor.
    fn step<T: 'static>(
        &self,
        ctx: &mut Context<Self>,
        step: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) {
        let step = AssertUnwindSafe(step).catch_unwind().into_actor(self);
        ctx.spawn(step.map(|outcome, actor, ctx| match outcome {
            Ok(outcome) => then(actor, outcome, ctx),
            Err(_) => {
                tracing::error!(job = %actor.job.job, "a job actor panicked");
                ctx.stop();
            }
        }));
    }
}

impl Actor for JobActor {
    type Context = Context<Self>;

    /// Actix calls this after each restart too.
    fn started(&mut self, ctx: &mut Self::Context) {
        // An actor that is restarted after its turn has nothing to do.
        if self.turn.is_none() {
            return;
        }
        #[cfg(test)]
        tests::register(self.job.job, &ctx.address());
        match self.state {
            State::Starting | State::Running => self.begin(ctx),
            State::Ending(_) => self.end(ctx),
        }
    }
}

impl Supervised for JobActor {
    /// The context has dropped its futures, and the lease with them.
    fn restarting(&mut self, _: &mut Self::Context) {
        tracing::warn!(job = %self.job.job, "a job actor was restarted");
        self.was_restarted = true;
    }
}

enum Start {
    Run(Box<Job>, BackendLease, RunDeadline),
    /// There is nothing to run. Contains the job if it is terminal.
    Nothing(Option<Box<Job>>),
}

/// Begins a run. Its count is durable before this returns, so a crash cannot add a run to the maximum.
async fn begin(
    job: QueuedJob,
    lease: Option<BackendLease>,
    was_restarted: bool,
    context: &DispatchContext,
) -> Start {
    let mut deadline = RunDeadline::new(context.run_timeout);
    let lease = match lease {
        Some(lease) => lease,
        None => {
            let lease = wait_for_lease(job, was_restarted, &mut deadline, context);
            let lease = tokio::select! {
                biased;
                lease = lease => lease,
                () = context.cut_off.triggered() => return Start::Nothing(None),
            };
            match lease {
                Ok(lease) => lease,
                Err(ended) => return Start::Nothing(ended),
            }
        }
    };
    let Some(account) = context.account(job.account).await else {
        return Start::Nothing(None);
    };
    let id = job.job;
    let max_runs = context.max_runs;
    match account.apply(id, JobEvent::Begin { max_runs }, None).await {
        Ok(Ok(job)) if job.state.is_terminal() => {
            if let JobState::Failed { kind, .. } = &job.state {
                log_failure(&job, *kind);
            }
            Start::Nothing(Some(Box::new(job)))
        }
        Ok(Ok(job)) => Start::Run(Box::new(job), lease, deadline),
        // Canceled while it waited for its turn, or ended by this actor before its restart.
        Ok(Err(EventError::Transition(_) | EventError::NotFound)) => Start::Nothing(None),
        Ok(Err(EventError::Store(error))) => {
            if !context.has_failed() {
                tracing::error!(job = %id, %error, "a run could not begin");
            }
            Start::Nothing(None)
        }
        // The account actor has stopped with the process.
        Err(_) => Start::Nothing(None),
    }
}

/// Waits for the lease of a job that may have begun a run before. Otherwise there is nothing to run: returns the job if the wait has
/// failed it.
async fn wait_for_lease(
    job: QueuedJob,
    was_restarted: bool,
    deadline: &mut RunDeadline,
    context: &DispatchContext,
) -> Result<BackendLease, Option<Box<Job>>> {
    loop {
        let wait = LeaseWait {
            account: job.account,
            tier: job.tier,
            kind: LeaseKind::Start(None),
            counts_as_work: false,
        };
        match wait.until(deadline, context).await {
            Ok(lease) => {
                // The lease comes before the delay, while the slot that the restart has released is still free.
                if was_restarted {
                    sleep(RESTART_DELAY).await;
                }
                return Ok(lease);
            }
            Err(NoLease::Stopping) => return Err(None),
            Err(NoLease::TimedOut) => {}
        }
        let error = deadline.exceeded();
        let kind = error.kind();
        let event = JobEvent::Fail {
            error: error.to_string(),
            kind,
        };
        let Some(account) = context.account(job.account).await else {
            return Err(None);
        };
        match account.apply(job.job, event, None).await {
            Ok(Ok(failed)) => {
                log_failure(&failed, kind);
                return Err(Some(Box::new(failed)));
            }
            // The actor stopped before its first run began. A pause fails no queued job.
            Ok(Err(EventError::Transition(TransitionError::NotStarted))) => {
                *deadline = RunDeadline::new(context.run_timeout);
            }
            Ok(Err(error)) => {
                if !context.has_failed() {
                    tracing::warn!(job = %job.job, %error, "the end of a run was not applied");
                }
                return Err(None);
            }
            // The account actor has stopped with the process.
            Err(_) => return Err(None),
        }
    }
}

/// Applies the event that ends a run. Returns true once the event is durable.
async fn apply(
    job: QueuedJob,
    event: JobEvent,
    was_restarted: bool,
    context: &DispatchContext,
) -> bool {
    if was_restarted {
        sleep(RESTART_DELAY).await;
    }
    let Some(account) = context.account(job.account).await else {
        return false;
    };
    match account.apply(job.job, event, None).await {
        Ok(Ok(_)) => true,
        // The actor had sent the event before its restart.
        Ok(Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))) if was_restarted => {
            true
        }
        Ok(Err(error)) => {
            if !context.has_failed() {
                tracing::warn!(job = %job.job, %error, "the end of a run was not applied");
            }
            false
        }
        // The account actor has stopped with the process.
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
