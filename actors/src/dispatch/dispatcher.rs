//! The dispatcher: decides which job runs next, and on which backend.

use super::context::DispatchContext;
use super::job::JobActor;
use crate::backends::{BackendLease, BackendSelection, LeaseKind, LeaseRequest};
use actix::{Actor, AsyncContext, Context, Handler, Message, SpawnHandle, StreamHandler};
use futures_util::stream;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

/// How often the dispatcher looks whether an object store that failed can be used again.
const OBJECT_STORE_POLL: Duration = Duration::from_secs(1);

/// A command to the dispatcher. New jobs, free slots, breakers that open or close, and changes of the paused models need no command:
/// they wake it.
#[derive(Message)]
#[rtype(result = "()")]
pub enum DispatcherCommand {
    /// Starts no more jobs.
    Stop,
}

struct WakeUp;

/// Gives queued jobs to backends.
///
/// A queued job is a record and a queue entry. Its actor starts when its turn comes: before that the actor would have nothing to do,
/// and a million actors would take as much memory as all else together.
pub struct Dispatcher {
    context: Arc<DispatchContext>,
    selections: [BackendSelection; 3],
    /// The tiers in the order of their turns.
    turns: Vec<Tier>,
    /// When to dispatch again without a wake-up, and the timer for it.
    probe_timer: Option<(Instant, SpawnHandle)>,
    is_stopping: bool,
}

/// The receiver of a lease.
enum Grant {
    /// A run that waits for it.
    Waiting(LeaseRequest, BackendLease),
    /// The next job of the queue.
    Start(BackendLease),
    /// The next job that has begun a run before. All backends of its tier are paused, and its deadline limits the wait for a lease.
    Resume,
}

impl Dispatcher {
    pub(crate) fn new(context: Arc<DispatchContext>) -> Self {
        let selection = |tier: Tier| BackendSelection::new(tier, &context.pool);
        Self {
            selections: Tier::ALL.map(selection),
            context,
            turns: Tier::ALL.to_vec(),
            probe_timer: None,
            is_stopping: false,
        }
    }

    fn dispatch(&mut self, ctx: &mut Context<Self>) {
        let now = Instant::now();
        self.context.end_cool_downs_for_others(now);
        // Tiers take turns, so that tiers that share a backend do not starve each other.
        while let Some((at, grant)) = self.next(now) {
            let tier = self.turns.remove(at);
            self.turns.push(tier);
            match grant {
                // If the run has ended meanwhile, this drops the lease.
                Grant::Waiting(request, lease) => drop(request.reply.send(lease)),
                Grant::Start(lease) => {
                    let pause = self.context.process.durable_pause.read();
                    self.start_next(tier, &pause, Some(lease));
                }
                Grant::Resume => self.start_next(tier, &Pause::everything(), None),
            }
        }
        self.set_probe_timer(now, ctx);
        self.context.queue.slot_freed();
    }

    fn start_next(&self, tier: Tier, pause: &Pause, lease: Option<BackendLease>) {
        if let Some(turn) = self.context.local_queue.pop(tier, pause) {
            JobActor::start(turn, lease, Arc::clone(&self.context));
        }
    }

    /// The first tier in turn that has both a run and a lease for it, as an index into `turns`. Runs that wait for a lease go before
    /// jobs that begin, and go on during a pause and an orderly stop. Jobs that have begun a run before go on during a pause. No run calls
    /// its first backend while the object store fails.
    fn next(&mut self, now: Instant) -> Option<(usize, Grant)> {
        let Self {
            context,
            selections,
            turns,
            is_stopping,
            ..
        } = self;
        let pause = context.process.durable_pause.read();
        let (queues, pool) = (&context.local_queue, &context.pool);
        let can_store = context.job_objects.is_usable();
        turns.iter().enumerate().find_map(|(at, tier)| {
            let selection = &mut selections[tier.index()];
            let mut failover = pool.failover_queue(*tier).lock();
            let lease = |kind: &LeaseKind| match kind {
                LeaseKind::Start(_) if !can_store => None,
                kind => selection.for_waiting(pool, kind, now),
            };
            if let Some((request, lease)) = failover.next(lease) {
                return Some((at, Grant::Waiting(request, lease)));
            }
            let waiting = failover.len();
            drop(failover);
            if pool.has_only_paused_backends(*tier) {
                let has_begun = !*is_stopping && queues.has_next(*tier, &Pause::everything());
                return has_begun.then_some((at, Grant::Resume));
            }
            let is_startable = !*is_stopping && queues.has_next(*tier, &pause) && can_store;
            if !is_startable || !selection.accepts_more(waiting) {
                return None;
            }
            Some((at, Grant::Start(selection.for_start(pool, now)?)))
        })
    }

    /// Dispatches again when a breaker admits a probe, or after a while if the object store fails, if any run waits.
    fn set_probe_timer(&mut self, now: Instant, ctx: &mut Context<Self>) {
        let (queues, pool) = (&self.context.local_queue, &self.context.pool);
        let pause = self.context.process.durable_pause.read();
        let waits =
            |tier| queues.has_next(tier, &pause) || !pool.failover_queue(tier).lock().is_empty();
        let next = match Tier::ALL.into_iter().any(waits) {
            true if !self.context.job_objects.is_usable() => Some(now + OBJECT_STORE_POLL),
            true => pool.next_probe(now),
            false => None,
        };
        if self.probe_timer.map(|(until, _)| until) == next {
            return;
        }
        if let Some((_, timer)) = self.probe_timer.take() {
            ctx.cancel_future(timer);
        }
        self.probe_timer = next.map(|until| {
            let timer = ctx.run_later(until - now, |dispatcher, ctx| {
                dispatcher.probe_timer = None;
                dispatcher.dispatch(ctx);
            });
            (until, timer)
        });
    }
}

impl Actor for Dispatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let waker = self.context.local_queue.waker();
        ctx.add_stream(stream::unfold(waker, |waker| async move {
            waker.notified().await;
            Some((WakeUp, waker))
        }));
    }
}

impl StreamHandler<WakeUp> for Dispatcher {
    fn handle(&mut self, _: WakeUp, ctx: &mut Self::Context) {
        self.dispatch(ctx);
    }
}

impl Handler<DispatcherCommand> for Dispatcher {
    type Result = ();

    fn handle(&mut self, DispatcherCommand::Stop: DispatcherCommand, _: &mut Self::Context) {
        self.is_stopping = true;
    }
}
