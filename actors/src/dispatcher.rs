//! The dispatcher: which job runs next, and where.

use crate::job::{JobActor, JobContext, RunJob};
use crate::lane::{Lane, Place};
use crate::queues::Queues;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, Supervisor};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

const MAILBOX: usize = 4_096;
/// How often the dispatcher looks for job actors that have vanished.
const SWEEP: Duration = Duration::from_secs(30);

/// A job that waits for its run.
#[derive(Clone, Copy, Debug)]
pub struct QueuedJob {
    /// The job.
    pub job: JobId,
    /// Whose.
    pub account: AccountId,
    /// Which queue.
    pub tier: Tier,
    /// Does it go before the others of its account, because its turn had come before?
    pub goes_first: bool,
    /// Has a run of it begun before? A back end may hold the work of that.
    pub resumed: bool,
}

/// Hint: these jobs are in the store.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobsQueued(pub Vec<QueuedJob>);

/// Hint: the run of this job has ended; the job is terminal, or will go on after a restart.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobEnded(pub JobId);

/// Hint: this queued job was canceled.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobCanceled(pub JobId);

/// Hint: a back end has room again.
#[derive(Message)]
#[rtype(result = "()")]
pub struct PermitFreed;

/// Hint: the operator's switches have changed.
#[derive(Message)]
#[rtype(result = "()")]
pub struct PauseChanged(pub Pause);

/// Starts no more jobs.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopDispatching;

/// How many jobs wait and run.
#[derive(Message)]
#[rtype(result = "Depths")]
pub struct GetDepths;

/// Figures of the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, actix::MessageResponse)]
pub struct Depths {
    /// Waiting jobs per tier.
    pub queued: [usize; 3],
    /// Running jobs.
    pub running: usize,
}

/// A place on a back end. Dropping it gives the place back and tells the dispatcher.
pub struct Permit {
    held: Option<OwnedSemaphorePermit>,
    dispatcher: Addr<Dispatcher>,
}

impl Permit {
    /// Waits for a place.
    pub async fn acquire(places: Arc<Semaphore>, dispatcher: Addr<Dispatcher>) -> Self {
        // The semaphores are never closed.
        Self {
            held: places.acquire_owned().await.ok(),
            dispatcher,
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        drop(self.held.take());
        self.dispatcher.do_send(PermitFreed);
    }
}

struct Entry {
    address: Addr<JobActor>,
    queued: QueuedJob,
    running: bool,
}

/// Holds the queues and gives jobs to back ends: round robin between accounts, first in first out inside one.
pub struct Dispatcher {
    context: Arc<JobContext>,
    lanes: [Lane; 3],
    /// The tier whose turn it is comes first.
    turns: Vec<Tier>,
    queues: Arc<Queues>,
    jobs: HashMap<JobId, Entry>,
    pause: Pause,
    stopping: bool,
    running: usize,
}

impl Dispatcher {
    /// A dispatcher for the back ends of `context`.
    pub fn new(context: Arc<JobContext>, pause: Pause, queues: Arc<Queues>) -> Self {
        let lane = |tier: Tier| Lane::new(tier, context.routes.of(tier));
        let lanes = [lane(Tier::Fast), lane(Tier::Quality), lane(Tier::Pro)];
        Self {
            context,
            lanes,
            turns: Tier::ALL.to_vec(),
            queues,
            jobs: HashMap::new(),
            pause,
            stopping: false,
            running: 0,
        }
    }

    fn add(&mut self, queued: QueuedJob, ctx: &Context<Self>) {
        if self.jobs.contains_key(&queued.job) {
            return;
        }
        let address = self.start_actor(&queued, ctx);
        self.jobs.insert(
            queued.job,
            Entry {
                address,
                queued,
                running: false,
            },
        );
        self.enqueue(&queued);
    }

    fn start_actor(&self, queued: &QueuedJob, ctx: &Context<Self>) -> Addr<JobActor> {
        let actor = JobActor::new(
            queued.job,
            queued.account,
            Arc::clone(&self.context),
            ctx.address(),
        );
        Supervisor::start(move |_| actor)
    }

    fn enqueue(&mut self, queued: &QueuedJob) {
        let QueuedJob {
            job, account, tier, ..
        } = *queued;
        if queued.goes_first {
            self.queues.push_front(tier, account, job);
        } else {
            self.queues.push(tier, account, job);
        }
    }

    fn dispatch(&mut self, ctx: &Context<Self>) {
        if self.stopping {
            return;
        }
        let now = Instant::now();
        // Tiers take turns, so that none that shares a back end with another starves.
        while let Some((at, place)) = self.next_place(now) {
            let tier = self.turns.remove(at);
            self.turns.push(tier);
            let permit = Permit {
                held: Some(place.held),
                dispatcher: ctx.address(),
            };
            let next = self.queues.pop(tier);
            if let Some(entry) = next.and_then(|job| self.jobs.get_mut(&job)) {
                entry.running = true;
                self.running += 1;
                entry.address.do_send(RunJob {
                    permit,
                    route: place.route,
                    pass: place.pass,
                    resumed: entry.queued.resumed,
                });
            }
        }
    }

    /// The first tier in turn that has both a job and a place for it, as an index into the turns.
    fn next_place(&mut self, now: Instant) -> Option<(usize, Place)> {
        let Self {
            context,
            lanes,
            turns,
            queues,
            pause,
            ..
        } = self;
        turns.iter().enumerate().find_map(|(at, tier)| {
            let ready = !pause.covers(*tier) && !queues.is_empty(*tier);
            let place = ready.then(|| lanes[tier.index()].place(context, now));
            Some((at, place??))
        })
    }

    fn forget(&mut self, job: JobId) {
        if let Some(entry) = self.jobs.remove(&job) {
            if entry.running {
                self.running -= 1;
            }
            self.queues
                .forget(entry.queued.tier, entry.queued.account, job);
        }
    }

    /// A job actor ends by itself only when something broke: it is started again, and the store says what is left to do.
    fn sweep(&mut self, ctx: &Context<Self>) {
        let vanished: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|(_, entry)| !entry.address.connected())
            .map(|(job, _)| *job)
            .collect();
        for job in vanished {
            tracing::warn!(%job, "a job's actor has vanished and is started again");
            if let Some(queued) = self.jobs.get(&job).map(|entry| entry.queued) {
                self.forget(job);
                self.add(
                    QueuedJob {
                        goes_first: true,
                        resumed: true,
                        ..queued
                    },
                    ctx,
                );
            }
        }
        self.dispatch(ctx);
    }
}

impl Actor for Dispatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(SWEEP, |dispatcher, ctx| dispatcher.sweep(ctx));
    }
}

impl Handler<JobsQueued> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: JobsQueued, ctx: &mut Self::Context) {
        hint.0.into_iter().for_each(|queued| self.add(queued, ctx));
        self.dispatch(ctx);
    }
}

impl Handler<JobEnded> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: JobEnded, _: &mut Self::Context) {
        self.forget(hint.0);
    }
}

impl Handler<JobCanceled> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: JobCanceled, _: &mut Self::Context) {
        // A run that is being begun finds the job canceled in the store and ends by itself.
        if self.jobs.get(&hint.0).is_some_and(|entry| !entry.running) {
            self.forget(hint.0);
        }
    }
}

impl Handler<PermitFreed> for Dispatcher {
    type Result = ();

    fn handle(&mut self, _: PermitFreed, ctx: &mut Self::Context) {
        self.dispatch(ctx);
    }
}

impl Handler<PauseChanged> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: PauseChanged, ctx: &mut Self::Context) {
        self.pause = hint.0;
        self.dispatch(ctx);
    }
}

impl Handler<StopDispatching> for Dispatcher {
    type Result = ();

    fn handle(&mut self, _: StopDispatching, _: &mut Self::Context) {
        self.stopping = true;
    }
}

impl Handler<GetDepths> for Dispatcher {
    type Result = Depths;

    fn handle(&mut self, _: GetDepths, _: &mut Self::Context) -> Depths {
        Depths {
            queued: [Tier::Fast, Tier::Quality, Tier::Pro].map(|tier| self.queues.len(tier)),
            running: self.running,
        }
    }
}
