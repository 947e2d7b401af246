//! The dispatcher: which job runs next, and where.

use crate::job::{JobActor, JobContext, RunJob};
use crate::lane::{Lane, Place};
use crate::moves::{MoveOn, Moves};
use crate::permit::{Granted, Permit};
use crate::queues::{QueuedJob, Queues, Turn};
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, SpawnHandle, Supervisor};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

const MAILBOX: usize = 4_096;
/// How often the dispatcher looks for job actors that have vanished.
const SWEEP: Duration = Duration::from_secs(30);

/// Hint: there are jobs in the queues.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobsQueued;

/// Hint: the run of this job has ended; the job is terminal, or will go on after a restart.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobEnded(pub JobId);

/// Hint: this queued job was canceled.
#[derive(Message)]
#[rtype(result = "()")]
pub struct JobCanceled(pub QueuedJob);

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

/// A job whose turn has come, until its run has ended.
struct Running {
    actor: Addr<JobActor>,
    from: QueuedJob,
}

/// Holds the queues and gives jobs to back ends: round robin between accounts, first in first out inside one.
///
/// A job that waits is a record in the store and a place in a queue. Its actor is started when its turn comes: before that it
/// would have nothing to do, and a million of them would take as much memory as all else together.
pub struct Dispatcher {
    context: Arc<JobContext>,
    lanes: [Lane; 3],
    /// The tier whose turn it is comes first.
    turns: Vec<Tier>,
    queues: Arc<Queues>,
    running: HashMap<JobId, Running>,
    /// Runs of each tier that go on at another back end, and wait for a place there.
    moves: [Moves; 3],
    /// When a back end that is passed over may be tried out, and the timer for that.
    alarm: Option<(Instant, SpawnHandle)>,
    pause: Pause,
    stopping: bool,
}

/// Who gets a place.
enum Found {
    /// A run that goes on.
    Moving(MoveOn, Place),
    /// The next job of the queue.
    Queued(Place),
}

impl Dispatcher {
    /// A dispatcher for the back ends of `context`.
    pub fn new(context: Arc<JobContext>, pause: Pause, queues: Arc<Queues>) -> Self {
        let lane = |tier: Tier| Lane::new(tier, &context);
        let lanes = [lane(Tier::Fast), lane(Tier::Quality), lane(Tier::Pro)];
        Self {
            context,
            lanes,
            turns: Tier::ALL.to_vec(),
            queues,
            running: HashMap::new(),
            moves: Default::default(),
            alarm: None,
            pause,
            stopping: false,
        }
    }

    fn dispatch(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        // Tiers take turns, so that none that shares a back end with another starves.
        while let Some((at, found)) = self.next_place(now) {
            let tier = self.turns.remove(at);
            self.turns.push(tier);
            match found {
                // A run that has ended meanwhile gives the place back by dropping it.
                Found::Moving(moving, place) => drop(moving.reply.send(granted(place, ctx))),
                Found::Queued(place) => {
                    if let Some(turn) = self.queues.pop(tier) {
                        self.start(turn, tier, place, ctx);
                    }
                }
            }
        }
        self.set_alarm(now, ctx);
    }

    fn start(&mut self, turn: Turn, tier: Tier, place: Place, ctx: &Context<Self>) {
        let Turn {
            job,
            account,
            resumed,
        } = turn;
        let granted = granted(place, ctx);
        let vacant = match self.running.entry(job) {
            Entry::Vacant(vacant) => vacant,
            // Queued twice: a job never has two runs at a time.
            Entry::Occupied(_) => return,
        };
        let actor = JobActor::new(job, account, Arc::clone(&self.context), ctx.address());
        let actor = Supervisor::start(move |_| actor);
        actor.do_send(RunJob { granted, resumed });
        let from = QueuedJob { job, account, tier };
        vacant.insert(Running { actor, from });
    }

    /// The first tier in turn that has both a run and a place for it, as an index into the turns. Runs that go on come before
    /// jobs that begin, and go on in a pause and in an orderly stop too.
    fn next_place(&mut self, now: Instant) -> Option<(usize, Found)> {
        let Self {
            context,
            lanes,
            turns,
            queues,
            moves,
            pause,
            stopping,
            ..
        } = self;
        turns.iter().enumerate().find_map(|(at, tier)| {
            let (lane, moves) = (&mut lanes[tier.index()], &mut moves[tier.index()]);
            if let Some((moving, place)) = moves.next(|ahead| lane.next(context, ahead, now)) {
                return Some((at, Found::Moving(moving, place)));
            }
            let begins = !*stopping && !pause.covers(*tier) && !queues.is_empty(*tier);
            let begins = begins && lane.takes_more(moves.len());
            let place = begins.then(|| lane.place(context, now));
            Some((at, Found::Queued(place??)))
        })
    }

    /// Looks again once a back end may be tried out, if somebody waits.
    fn set_alarm(&mut self, now: Instant, ctx: &mut Context<Self>) {
        let waits =
            |tier: &Tier| !self.queues.is_empty(*tier) || !self.moves[tier.index()].is_empty();
        let untils = self.context.breakers.iter().filter_map(|it| it.until());
        let next = match Tier::ALL.iter().any(waits) {
            true => untils.filter(|until| *until > now).min(),
            false => None,
        };
        if self.alarm.map(|(until, _)| until) == next {
            return;
        }
        if let Some((_, timer)) = self.alarm.take() {
            ctx.cancel_future(timer);
        }
        self.alarm = next.map(|until| {
            let timer = ctx.run_later(until - now, |dispatcher, ctx| {
                dispatcher.alarm = None;
                dispatcher.dispatch(ctx);
            });
            (until, timer)
        });
    }

    /// A job actor ends by itself only when something broke: it is started again, and the store says what is left to do.
    fn sweep(&mut self, ctx: &mut Context<Self>) {
        let vanished = self.running.iter().filter(|(_, it)| !it.actor.connected());
        let vanished: Vec<JobId> = vanished.map(|(job, _)| *job).collect();
        for job in vanished {
            tracing::warn!(%job, "a job's actor has vanished and is started again");
            if let Some(ended) = self.end(job) {
                self.queues.push_front(ended.from);
            }
        }
        self.dispatch(ctx);
    }

    fn end(&mut self, job: JobId) -> Option<Running> {
        let ended = self.running.remove(&job)?;
        self.queues.forget(ended.from);
        Some(ended)
    }
}

fn granted(place: Place, ctx: &Context<Dispatcher>) -> Granted {
    Granted {
        route: place.route,
        pass: place.pass,
        permit: Permit::new(place.held, ctx.address()),
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

    fn handle(&mut self, _: JobsQueued, ctx: &mut Self::Context) {
        self.queues.hint_taken();
        self.dispatch(ctx);
    }
}

impl Handler<JobEnded> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: JobEnded, _: &mut Self::Context) {
        self.end(hint.0);
    }
}

impl Handler<JobCanceled> for Dispatcher {
    type Result = ();

    fn handle(&mut self, hint: JobCanceled, _: &mut Self::Context) {
        // A run that is being begun finds the job canceled in the store and ends by itself.
        if !self.running.contains_key(&hint.0.job) {
            self.queues.forget(hint.0);
        }
    }
}

impl Handler<PermitFreed> for Dispatcher {
    type Result = ();

    fn handle(&mut self, _: PermitFreed, ctx: &mut Self::Context) {
        self.dispatch(ctx);
    }
}

impl Handler<MoveOn> for Dispatcher {
    type Result = ();

    fn handle(&mut self, command: MoveOn, ctx: &mut Self::Context) {
        self.moves[command.tier.index()].push(command);
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
            running: self.running.len(),
        }
    }
}
