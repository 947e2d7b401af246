//! The delivery actor: begins the due attempts, with one timer for the whole schedule.
//!
//! The due index in the store is authoritative. A single node's actor reads all of it at the start, and is the only one that changes
//! existing deliveries; an actor of several nodes polls the entries of its shards that are due soon. The actor decides nothing about a
//! delivery whose commit is in flight, so each decision builds on durable records.

mod due_reads;

use super::change::{Change, Changes};
use super::command::{DeliveryCommand, DeliveryDepths, ReplySender};
use super::context::DeliveryContext;
use super::failure_log::FailureLog;
use super::held_shards::{HeldShards, POLL};
use super::receiver::{self, FindResult};
use super::receiver_health::{AttemptEnd, ReceiverHealth};
use super::restart;
use super::scheduler::DeliveryScheduler;
use crate::ports::{AttemptOutcome, OBJECT_STORE_TARGET};
use actix::{
    Actor, ActorFutureExt as _, Addr, AsyncContext, Context, Handler, Message, SpawnHandle,
    WrapFuture as _,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::store::{DeletionStep, DueEntry, StoreError};

const MAILBOX: usize = 4_096;
/// Attempts that one handler call begins. A delivery without a receiver ends at once, so without this limit one call would end the whole
/// backlog of a deleted webhook, and no other task of the thread would run meanwhile.
const MAX_BEGINS: usize = 256;
/// A delivery that is due later than the longest delay plus this was recorded before the clock was set back. It is moved forward.
const SLACK: Duration = Duration::from_secs(60 * 60);
/// The delay before the retry of a delivery that the service itself failed to send.
const NOT_SENT_DELAY: Duration = Duration::from_secs(30);
/// A clock that goes back by more milliseconds than this was set back. The schedule moves back with it, because a retry is due a
/// fixed time after its attempt. Such a retry is late by at most [`LONGEST_WAIT`].
const CLOCK_JITTER: i64 = 1_000;
/// The longest timer, because the system's clock may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub struct DeliveryActor {
    context: Arc<DeliveryContext>,
    scheduler: DeliveryScheduler,
    changes: Changes,
    /// Deliveries with an attempt in flight, which begins with the read of its records, and their receivers.
    in_flight: HashMap<DeliveryId, WebhookId>,
    /// `None` on a single node: the schedule then contains all pending deliveries.
    shards: Option<HeldShards>,
    timer: Option<(Timestamp, SpawnHandle)>,
    failures: FailureLog,
    /// Do other tasks run before the actor begins more attempts?
    has_yielded: bool,
    /// When the actor last read the clock.
    last_now: Timestamp,
    stopping: bool,
    /// The actor's own address, to which reads, attempts and commits send the next step.
    address: Addr<Self>,
}

/// What the actor does once a read, an attempt or a commit has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Continuation(Box<dyn FnOnce(&mut DeliveryActor) + Send>);

impl Continuation {
    fn new(step: impl FnOnce(&mut DeliveryActor) + Send + 'static) -> Self {
        Self(Box::new(step))
    }
}

impl DeliveryActor {
    pub fn new(context: Arc<DeliveryContext>, address: Addr<Self>) -> Self {
        let committed = address.clone();
        Self {
            scheduler: DeliveryScheduler::new(context.options.limits),
            changes: Changes::new(Arc::clone(&context), move |id, delivery| {
                committed.do_send(Continuation::new(move |actor| {
                    actor.committed(id, delivery)
                }));
            }),
            shards: context.process.node.clone().map(HeldShards::new),
            context,
            in_flight: HashMap::new(),
            timer: None,
            failures: FailureLog::default(),
            has_yielded: false,
            last_now: Timestamp::EPOCH,
            stopping: false,
            address,
        }
    }

    /// Begins the due attempts that have a slot, and sets the timer for the next one.
    fn begin_due_attempts(&mut self, ctx: &mut Context<Self>) {
        if self.has_yielded {
            return;
        }
        let now = self.context.process.now();
        let set_back = self.last_now.millis() - now.millis();
        if set_back > CLOCK_JITTER {
            self.scheduler.shift_earlier(set_back);
        }
        self.last_now = now;
        self.scheduler.clamp_to(self.horizon(now));
        self.scheduler.advance(now);
        let mut begun = 0;
        while begun < MAX_BEGINS
            && self.may_begin()
            && let Some((scheduled, health)) = self.scheduler.take()
        {
            self.begin(scheduled, health);
            begun += 1;
        }
        if begun == MAX_BEGINS {
            self.yield_to_others(ctx);
        }
        self.set_timer(now, ctx);
    }

    fn yield_to_others(&mut self, ctx: &mut Context<Self>) {
        self.has_yielded = true;
        let resume = tokio::task::yield_now().into_actor(self);
        ctx.spawn(resume.map(|(), actor, ctx| {
            actor.has_yielded = false;
            actor.begin_due_attempts(ctx);
        }));
    }

    fn may_begin(&self) -> bool {
        let is_trusted = self.shards.as_ref().is_none_or(HeldShards::is_trusted);
        is_trusted && !self.stopping && !self.context.process.fail_stop.has_tripped()
    }

    fn horizon(&self, now: Timestamp) -> Timestamp {
        let longest = self.context.options.retry_delays.iter().max().copied();
        now.plus(longest.unwrap_or_default()).plus(SLACK)
    }

    fn set_timer(&mut self, now: Timestamp, ctx: &mut Context<Self>) {
        let Some(due) = self.scheduler.next_due() else {
            return;
        };
        if self.timer.as_ref().is_some_and(|(set, _)| *set <= due) {
            return;
        }
        if let Some((_, old)) = self.timer.take() {
            ctx.cancel_future(old);
        }
        let wait = u64::try_from(due.millis() - now.millis()).unwrap_or(0);
        let wait = Duration::from_millis(wait).min(LONGEST_WAIT);
        let handle = ctx.run_later(wait, |actor, ctx| {
            actor.timer = None;
            actor.begin_due_attempts(ctx);
        });
        self.timer = Some((due, handle));
    }

    /// Handles the result of a read: at once if it is ready, as with an engine in this process. A read that takes a round trip sends the
    /// next step later, and the actor goes on meanwhile.
    fn read_then<T: Send + 'static>(
        &mut self,
        read: impl Future<Output = T> + 'static,
        then: impl FnOnce(&mut Self, T) + Send + 'static,
    ) {
        let mut read = Box::pin(read);
        let mut no_waker = task::Context::from_waker(Waker::noop());
        if let Poll::Ready(found) = read.as_mut().poll(&mut no_waker) {
            return then(self, found);
        }
        let address = self.address.clone();
        tokio::task::spawn_local(async move {
            let found = read.await;
            address.do_send(Continuation::new(move |actor| then(actor, found)));
        });
    }

    fn begin(&mut self, scheduled: DueEntry, health: ReceiverHealth) {
        let id = scheduled.id;
        // A delivery whose commit is in flight is scheduled again after the commit.
        let is_stale = self.shards.as_mut().is_some_and(|it| !it.take(&scheduled));
        if is_stale || self.is_busy(id) {
            let end = AttemptEnd::Unsent;
            return self.scheduler.ended(scheduled.webhook, health, end);
        }
        self.in_flight.insert(id, scheduled.webhook);
        let read = receiver::find(Arc::clone(&self.context), id);
        self.read_then(read, move |actor, found| {
            actor.attempt_read(scheduled, health, found);
        });
    }

    /// Begins the attempt, or ends it without sending anything.
    fn attempt_read(&mut self, scheduled: DueEntry, health: ReceiverHealth, found: FindResult) {
        let DueEntry {
            id, due, webhook, ..
        } = scheduled;
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.context.process.fail_stop.trip(error.to_string()),
        };
        // Otherwise a redelivery or an earlier attempt has rescheduled the delivery, or does so after its commit.
        let is_held = self.shards.as_ref().is_none_or(|it| it.sends_to(webhook));
        let is_current = is_held && self.may_begin() && !self.changes.is_committing(id);
        let found = found.filter(|(delivery, _)| is_current && delivery.state.due() == Some(due));
        let end = match found {
            Some((delivery, Ok(webhook))) => {
                return self.attempt(scheduled, health, delivery, webhook);
            }
            Some((delivery, Err(reason))) => {
                self.changes.give_up(delivery, reason);
                match reason {
                    NoReceiver::WebhookDeleted => AttemptEnd::Gone,
                    NoReceiver::WebhookMoved | NoReceiver::WebhookInactive => AttemptEnd::Unsent,
                }
            }
            None => AttemptEnd::Unsent,
        };
        self.in_flight.remove(&id);
        self.scheduler.ended(webhook, health, end);
    }

    /// Runs an attempt in a separate task, because actix polls all futures of an actor whenever one of them wakes.
    fn attempt(
        &self,
        scheduled: DueEntry,
        health: ReceiverHealth,
        delivery: Delivery,
        webhook: Webhook,
    ) {
        let address = self.address.clone();
        let (round, at) = (delivery.round, self.context.process.now());
        self.context.process.stats.deliveries.began(&delivery, at);
        let attempt =
            tokio::task::spawn_local(self.context.options.transport.attempt(delivery, webhook));
        tokio::task::spawn_local(async move {
            let outcome = attempt.await.unwrap_or_else(|panic| {
                tracing::error!(delivery = %scheduled.id, %panic, "an attempt panicked");
                let text = "the sender failed unexpectedly";
                AttemptOutcome::Made(Attempt::broken(round, at, Duration::ZERO, text))
            });
            address.do_send(Continuation::new(move |actor| {
                actor.attempt_ended(scheduled, health, outcome);
            }));
        });
    }

    /// Retries later a delivery that the service itself failed to send. Its record does not change.
    fn postpone(&mut self, id: DeliveryId, reason: &str) {
        tracing::error!(target: OBJECT_STORE_TARGET, delivery = %id, reason, "could not send a delivery; retrying later");
        // A delivery whose commit is in flight is scheduled again after the commit.
        if self.changes.is_committing(id) {
            return;
        }
        let context = Arc::clone(&self.context);
        let read = async move { context.process.store.delivery(id).await };
        self.read_then(read, Self::schedule_later);
    }

    fn schedule_later(&mut self, found: Result<Option<Delivery>, StoreError>) {
        match found {
            Ok(Some(delivery)) => {
                let retry_at = self.context.process.now().plus(NOT_SENT_DELAY);
                self.schedule(&delivery, Some(retry_at));
            }
            Ok(None) => {}
            Err(error) => self.context.process.fail_stop.trip(error.to_string()),
        }
    }

    /// Schedules a pending delivery, for `at` or by default for its due time.
    fn schedule(&mut self, delivery: &Delivery, at: Option<Timestamp>) {
        if let Some(entry) = DueEntry::of(delivery) {
            self.schedule_at(at.unwrap_or(entry.due), entry);
        }
    }

    fn schedule_at(&mut self, at: Timestamp, scheduled: DueEntry) {
        let now = self.context.process.now();
        let is_wanted = |shards: &mut HeldShards| shards.add(at, &scheduled, now);
        if self.shards.as_mut().is_none_or(is_wanted) {
            self.scheduler.schedule(at, scheduled);
        }
    }

    fn attempt_ended(
        &mut self,
        scheduled: DueEntry,
        health: ReceiverHealth,
        outcome: AttemptOutcome,
    ) {
        self.in_flight.remove(&scheduled.id);
        self.context
            .process
            .stats
            .deliveries
            .count_attempt(&outcome);
        let end = match &outcome {
            AttemptOutcome::Made(attempt) if attempt.succeeded() => {
                AttemptEnd::Succeeded(Duration::from_millis(attempt.duration_ms))
            }
            AttemptOutcome::Made(_) => AttemptEnd::Failed,
            AttemptOutcome::NotSent(_) => AttemptEnd::Unsent,
        };
        self.scheduler.ended(scheduled.webhook, health, end);
        let DueEntry {
            id,
            account,
            webhook,
            ..
        } = scheduled;
        match outcome {
            AttemptOutcome::Made(attempt) => {
                let change = Change::Attempt {
                    account,
                    webhook,
                    attempt,
                };
                self.decide(id, change);
            }
            AttemptOutcome::NotSent(reason) => self.postpone(id, &reason),
        }
    }

    fn committed(&mut self, id: DeliveryId, delivery: Option<Delivery>) {
        let deferred = self.changes.committed(id);
        // Scheduled before the next decision, because a refused redelivery leaves the delivery as it is.
        if let Some(delivery) = &delivery {
            self.context.process.stats.deliveries.count_change(delivery);
            self.schedule(delivery, None);
            self.failures.log(&self.context, delivery);
        }
        // The first change begins a commit, and the others wait for it.
        for change in deferred {
            self.decide(id, change);
        }
    }

    /// Has the delivery an attempt or a commit in flight?
    fn is_busy(&self, id: DeliveryId) -> bool {
        self.in_flight.contains_key(&id) || self.changes.is_committing(id)
    }

    fn delete(
        &mut self,
        found: Result<DeletionStep, StoreError>,
        reply: ReplySender<Vec<u8>, StoreError>,
    ) {
        match found {
            Ok(mut step) => {
                // A redelivery has begun since the read. The next sweep deletes the others.
                if step.deliveries.iter().any(|it| self.is_busy(it.id)) {
                    step.writes.clear();
                }
                self.changes.delete(step, reply);
            }
            Err(error) => self.context.process.fail_stop.trip(error.to_string()),
        }
    }

    /// Decides a change now, or after the change in flight.
    fn decide(&mut self, id: DeliveryId, change: Change) {
        let Some(change) = self.changes.begin(id, change) else {
            return;
        };
        match change {
            Change::Attempt {
                account, attempt, ..
            } => self.changes.record(account, id, attempt),
            Change::Redeliver { to_entry, reply } => {
                let read = receiver::find(Arc::clone(&self.context), id);
                self.read_then(read, move |actor, found| {
                    match actor.changes.redeliver(found, to_entry, reply) {
                        Ok(true) => {}
                        Ok(false) => actor.committed(id, None),
                        Err(error) => actor.context.process.fail_stop.trip(error.to_string()),
                    }
                });
            }
        }
    }
}

impl Actor for DeliveryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        if self.shards.is_some() {
            ctx.run_interval(POLL, |actor, ctx| {
                actor.read_due();
                actor.begin_due_attempts(ctx);
            });
            return;
        }
        let now = self.context.process.now();
        if let Err(error) = restart::recover(&self.context.process.store, &mut self.scheduler, now)
        {
            self.context.process.fail_stop.trip(error.to_string());
        }
        self.begin_due_attempts(ctx);
    }
}

impl Handler<Continuation> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, Continuation(step): Continuation, ctx: &mut Self::Context) {
        step(self);
        self.begin_due_attempts(ctx);
    }
}

impl Handler<DeliveryCommand> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, command: DeliveryCommand, ctx: &mut Self::Context) {
        match command {
            DeliveryCommand::Queued(deliveries) => {
                for delivery in &deliveries {
                    self.context.process.stats.deliveries.count_change(delivery);
                    self.schedule(delivery, None);
                }
                self.begin_due_attempts(ctx);
            }
            DeliveryCommand::Add {
                delivery,
                writes,
                reply,
            } => self.changes.add(delivery, writes, reply),
            DeliveryCommand::Redeliver {
                id,
                to_entry,
                reply,
            } => {
                self.decide(id, Change::Redeliver { to_entry, reply });
            }
            DeliveryCommand::Delete {
                older_than,
                cursor,
                limit,
                reply,
            } => {
                // The delivery actor deletes them, because a redelivery of one of them may arrive at the same time.
                let store = self.context.process.store.clone();
                let busy = self.in_flight.keys().copied();
                let busy: HashSet<_> = busy.chain(self.changes.committing()).collect();
                let read = async move {
                    let keep = |id| busy.contains(&id);
                    let step = store.find_old_deliveries(older_than, &cursor, limit, keep);
                    step.await
                };
                self.read_then(read, |actor, found| actor.delete(found, reply));
            }
            DeliveryCommand::Hold { shards, reply } => {
                let attempted = self.in_flight.values().copied();
                let attempted = attempted.chain(self.changes.attempted());
                let held = self.shards.as_mut();
                let busy = held.map(|it| it.hold(&shards, attempted));
                let busy = busy.unwrap_or_default();
                let _ = reply.send(busy);
                self.read_due();
                self.begin_due_attempts(ctx);
            }
            DeliveryCommand::Stop => self.stopping = true,
            DeliveryCommand::Depths(reply) => {
                let depths = DeliveryDepths {
                    waiting: self.scheduler.waiting(),
                    in_flight: self.scheduler.in_flight(),
                };
                let _ = reply.send(depths);
            }
        }
    }
}

#[cfg(test)]
mod tests;
