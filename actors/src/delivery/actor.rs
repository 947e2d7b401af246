//! The delivery actor: begins the attempts that are due, with one timer for the whole schedule.
//!
//! The due index in the store is the truth; the actor holds a copy of it in memory, or of what is due soon where several nodes share the
//! store. It decides nothing about a delivery whose commit is in flight, so each of its decisions builds on what is durable. Where it is
//! the only one, no other changes deliveries that exist.

use super::change::{Change, Changes};
use super::command::{DeliveryCommand, DeliveryDepths};
use super::context::DeliveryContext;
use super::event::Event;
use super::held_shards::{self, DueRead, HeldShards, POLL};
use super::receiver::{self, Found};
use super::receiver_health::{AttemptEnd, ReceiverHealth};
use super::scheduler::{DeliveryScheduler, ScheduledDelivery};
use super::{restart, retention};
use crate::ports::AttemptOutcome;
use actix::{Actor, Addr, AsyncContext, Context, Handler, SpawnHandle};
use std::collections::HashSet;
use std::sync::Arc;
use std::task::{self, Poll, Waker};
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::{Due, StoreError};

const MAILBOX: usize = 4_096;
/// No delivery is due later than the longest delay plus this. One that is was recorded under a clock that has been set back since,
/// and does not wait for that time to come again.
const SLACK: Duration = Duration::from_secs(60 * 60);
/// A delivery that could not be sent for a fault of the service is tried again after this time.
const NOT_SENT_DELAY: Duration = Duration::from_secs(30);
/// A clock that goes back by more milliseconds than this has been set. The schedule moves back with it, because a retry is due a time
/// after an attempt, whatever the clock says. The retry is late by at most one look at the schedule.
const CLOCK_JITTER: i64 = 1_000;
/// The timer fires after this time at the latest, because the system's clock may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub struct DeliveryActor {
    context: Arc<DeliveryContext>,
    scheduler: DeliveryScheduler,
    changes: Changes,
    /// Deliveries with an attempt in flight, from the read of its records on.
    in_flight: HashSet<DeliveryId>,
    /// `None` where this process is alone on the store: the schedule then contains all that is pending.
    shards: Option<HeldShards>,
    timer: Option<(Timestamp, SpawnHandle)>,
    /// When the actor last looked at the schedule.
    newest: Timestamp,
    stopping: bool,
    /// The actor's own address: what ends elsewhere comes back as an event.
    address: Addr<Self>,
}

impl DeliveryActor {
    /// An actor that takes up what the store says is pending.
    pub fn new(context: Arc<DeliveryContext>, address: Addr<Self>) -> Self {
        let committed = address.clone();
        Self {
            scheduler: DeliveryScheduler::new(context.limits),
            changes: Changes::new(Arc::clone(&context), move |id, delivery| {
                committed.do_send(Event::Committed(id, delivery));
            }),
            shards: context.node.clone().map(HeldShards::new),
            context,
            in_flight: HashSet::new(),
            timer: None,
            newest: Timestamp::from_millis(0),
            stopping: false,
            address,
        }
    }

    /// Begins the attempts that are due and have a slot, and sets the timer for the next one.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        let now = (self.context.clock)();
        let set_back = self.newest.millis() - now.millis();
        if set_back > CLOCK_JITTER {
            self.scheduler.set_back(set_back);
        }
        self.newest = now;
        self.scheduler.pull_in(self.horizon(now));
        self.scheduler.advance(now);
        while self.may_begin() {
            let Some((scheduled, health)) = self.scheduler.take() else {
                break;
            };
            self.begin(scheduled, health);
        }
        self.set_timer(now, ctx);
    }

    /// May an attempt begin?
    fn may_begin(&self) -> bool {
        let is_trusted = self.shards.as_ref().is_none_or(HeldShards::is_trusted);
        is_trusted && !self.stopping && !self.context.fail_stop.has_tripped()
    }

    fn horizon(&self, now: Timestamp) -> Timestamp {
        let longest = self.context.retry_delays.iter().max().copied();
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
            actor.pump(ctx);
        });
        self.timer = Some((due, handle));
    }

    /// Goes on at once with a read that is ready, as those of an engine of this process are. One that takes a round trip comes back as an
    /// event, and the actor does other things meanwhile.
    fn after<T: 'static>(
        &mut self,
        read: impl Future<Output = T> + 'static,
        event: impl FnOnce(T) -> Event + 'static,
    ) {
        let mut read = Box::pin(read);
        let mut unheard = task::Context::from_waker(Waker::noop());
        if let Poll::Ready(found) = read.as_mut().poll(&mut unheard) {
            return self.hear(event(found));
        }
        let address = self.address.clone();
        tokio::task::spawn_local(async move { address.do_send(event(read.await)) });
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::AttemptEnded {
                scheduled,
                health,
                outcome,
            } => self.attempt_ended(scheduled, health, outcome),
            Event::Found {
                scheduled,
                health,
                found,
            } => self.found(scheduled, health, found),
            Event::RedeliveryRead {
                id,
                note,
                reply,
                found,
            } => match self.changes.redeliver(found, note, reply) {
                Ok(true) => {}
                Ok(false) => self.committed(id, None),
                Err(error) => self.context.fail_stop.trip(error.to_string()),
            },
            Event::PutOff(found) => self.schedule_later(found),
            Event::DueRead(found) => self.due_read(found),
            Event::Committed(id, delivery) => self.committed(id, delivery),
        }
    }

    fn begin(&mut self, scheduled: ScheduledDelivery, health: ReceiverHealth) {
        let id = scheduled.id;
        // A delivery whose commit is in flight comes back through the schedule when the commit has ended.
        let is_stale = self.shards.as_mut().is_some_and(|it| !it.take(&scheduled));
        if is_stale || self.changes.is_committing(id) || !self.in_flight.insert(id) {
            let end = AttemptEnd::Unsent;
            return self.scheduler.ended(scheduled.webhook, health, end);
        }
        if let Some(shards) = &mut self.shards {
            shards.attempt_begins(id, scheduled.webhook);
        }
        let read = receiver::find(Arc::clone(&self.context), id);
        self.after(read, move |found| Event::Found {
            scheduled,
            health,
            found,
        });
    }

    /// Begins the attempt, or ends it with nothing sent.
    fn found(&mut self, scheduled: ScheduledDelivery, health: ReceiverHealth, found: Found) {
        let ScheduledDelivery {
            id, due, webhook, ..
        } = scheduled;
        let found = match found {
            Ok(found) => found,
            Err(error) => return self.context.fail_stop.trip(error.to_string()),
        };
        // A redelivery or an earlier attempt has scheduled the delivery anew, or does so as soon as its commit has ended.
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
        self.release(id);
        self.scheduler.ended(webhook, health, end);
    }

    /// The shard of a delivery need not be held for its sake, once its attempt is on record.
    fn release(&mut self, id: DeliveryId) {
        if let Some(shards) = &mut self.shards
            && !self.in_flight.contains(&id)
            && !self.changes.is_committing(id)
        {
            shards.attempt_ended(id);
        }
    }

    /// Begins an attempt in a separate task: actix polls all futures of an actor whenever one of them wakes.
    fn attempt(
        &self,
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        delivery: Delivery,
        webhook: Webhook,
    ) {
        let address = self.address.clone();
        let (round, at) = (delivery.round, (self.context.clock)());
        self.context.stats.deliveries.began(&delivery, at);
        let attempt = tokio::task::spawn_local(self.context.transport.attempt(delivery, webhook));
        tokio::task::spawn_local(async move {
            let outcome = attempt.await.unwrap_or_else(|panic| {
                tracing::error!(delivery = %scheduled.id, %panic, "an attempt panicked");
                let text = "the sender failed unexpectedly";
                AttemptOutcome::Made(Attempt::broken(round, at, Duration::ZERO, text))
            });
            address.do_send(Event::AttemptEnded {
                scheduled,
                health,
                outcome,
            });
        });
    }

    /// Tries a delivery again that could not be sent for a fault of the service. Its record does not change.
    fn put_off(&mut self, id: DeliveryId, reason: &str) {
        tracing::error!(delivery = %id, reason, "could not send a delivery; retrying later");
        // A delivery whose commit is in flight comes back through the schedule when the commit has ended.
        if self.changes.is_committing(id) {
            return;
        }
        let context = Arc::clone(&self.context);
        self.after(
            async move { context.store.delivery(id).await },
            Event::PutOff,
        );
    }

    fn schedule_later(&mut self, found: Result<Option<Delivery>, StoreError>) {
        match found {
            Ok(Some(delivery)) => {
                let retry_at = (self.context.clock)().plus(NOT_SENT_DELAY);
                self.schedule(&delivery, Some(retry_at));
            }
            Ok(None) => {}
            Err(error) => self.context.fail_stop.trip(error.to_string()),
        }
    }

    /// Schedules a pending delivery, for `at` or else for the time when it is due.
    fn schedule(&mut self, delivery: &Delivery, at: Option<Timestamp>) {
        if let Some(due) = delivery.state.due() {
            let scheduled = ScheduledDelivery {
                id: delivery.id,
                account: delivery.account,
                webhook: delivery.webhook,
                due,
            };
            self.schedule_at(at.unwrap_or(due), scheduled);
        }
    }

    fn schedule_at(&mut self, at: Timestamp, scheduled: ScheduledDelivery) {
        let now = (self.context.clock)();
        let is_wanted = |shards: &mut HeldShards| shards.add(&scheduled, now);
        if self.shards.as_mut().is_none_or(is_wanted) {
            self.scheduler.schedule(at, scheduled);
        }
    }

    /// Reads what is due soon, of the shards that this node holds.
    fn read_due(&mut self) {
        if self.stopping {
            return;
        }
        let now = (self.context.clock)();
        let reads = self.shards.as_mut().and_then(|it| it.next_reads(now));
        if let Some(reads) = reads {
            let store = self.context.store.clone();
            self.after(held_shards::read(store, reads, now), Event::DueRead);
        }
    }

    fn due_read(&mut self, found: Result<Vec<(DueRead, Due)>, StoreError>) {
        let found = match found {
            Ok(found) => found,
            // The store may be closed by now.
            Err(_) if self.stopping => return,
            Err(error) => return self.context.fail_stop.trip(error.to_string()),
        };
        if let Some(shards) = &mut self.shards {
            shards.read(&found);
        }
        for (due, id, entry) in found.into_iter().flat_map(|(_, due)| due) {
            // A delivery whose attempt or commit is in flight is scheduled when that has ended.
            if self.in_flight.contains(&id) || self.changes.is_committing(id) {
                continue;
            }
            if entry.failures > 0 {
                self.scheduler.mark_failing(entry.webhook);
            }
            self.schedule_at(due, ScheduledDelivery::new(id, due, entry));
        }
    }

    fn attempt_ended(
        &mut self,
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        outcome: AttemptOutcome,
    ) {
        self.in_flight.remove(&scheduled.id);
        self.context.stats.deliveries.attempted(&outcome);
        let end = match &outcome {
            AttemptOutcome::Made(attempt) if attempt.succeeded() => {
                AttemptEnd::Succeeded(Duration::from_millis(attempt.duration_ms))
            }
            AttemptOutcome::Made(_) => AttemptEnd::Failed,
            AttemptOutcome::NotSent(_) => AttemptEnd::Unsent,
        };
        self.scheduler.ended(scheduled.webhook, health, end);
        let ScheduledDelivery { id, account, .. } = scheduled;
        match outcome {
            AttemptOutcome::Made(attempt) => {
                self.decide(id, Change::Attempt { account, attempt });
            }
            AttemptOutcome::NotSent(reason) => self.put_off(id, &reason),
        }
        self.release(id);
    }

    fn committed(&mut self, id: DeliveryId, delivery: Option<Delivery>) {
        let deferred = self.changes.committed(id);
        self.release(id);
        // Scheduled whatever is decided next: a redelivery that is refused leaves the delivery as it is.
        if let Some(delivery) = &delivery {
            self.context.stats.deliveries.recorded(delivery);
            self.schedule(delivery, None);
        }
        // The first change begins a commit, which the others wait for.
        for change in deferred {
            self.decide(id, change);
        }
    }

    /// Decides a change now, or once the one under way has ended.
    fn decide(&mut self, id: DeliveryId, change: Change) {
        let Some(change) = self.changes.begin(id, change) else {
            return;
        };
        match change {
            Change::Attempt { account, attempt } => self.changes.record(account, id, attempt),
            Change::Redeliver { note, reply } => {
                let read = receiver::find(Arc::clone(&self.context), id);
                self.after(read, move |found| Event::RedeliveryRead {
                    id,
                    note,
                    reply,
                    found,
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
                actor.pump(ctx);
            });
            return;
        }
        let now = (self.context.clock)();
        if let Err(error) = restart::recover(&self.context.store, &mut self.scheduler, now) {
            self.context.fail_stop.trip(error.to_string());
        }
        self.pump(ctx);
    }
}

impl Handler<Event> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, event: Event, ctx: &mut Self::Context) {
        self.hear(event);
        self.pump(ctx);
    }
}

impl Handler<DeliveryCommand> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, command: DeliveryCommand, ctx: &mut Self::Context) {
        match command {
            DeliveryCommand::Queued(deliveries) => {
                for delivery in &deliveries {
                    self.context.stats.deliveries.recorded(delivery);
                    self.schedule(delivery, None);
                }
                self.pump(ctx);
            }
            DeliveryCommand::Add {
                delivery,
                writes,
                reply,
            } => self.changes.add(delivery, writes, reply),
            DeliveryCommand::Redeliver { id, note, reply } => {
                self.decide(id, Change::Redeliver { note, reply });
            }
            DeliveryCommand::Forget {
                older_than,
                cursor,
                limit,
                reply,
            } => {
                let is_busy = |id| self.in_flight.contains(&id);
                let wanted = retention::Forget {
                    older_than,
                    cursor,
                    limit,
                    reply,
                };
                if let Err(error) = retention::forget(wanted, is_busy, &mut self.changes) {
                    self.context.fail_stop.trip(error.to_string());
                }
            }
            DeliveryCommand::Hold { shards, reply } => {
                let held = self.shards.as_mut();
                let busy = held.map(|it| it.hold(&shards)).unwrap_or_default();
                let _ = reply.send(busy);
                self.read_due();
                self.pump(ctx);
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
