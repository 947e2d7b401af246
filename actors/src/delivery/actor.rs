//! The delivery actor: begins the attempts that are due, with one timer for the whole schedule.
//!
//! The due index in the store is the truth; the actor holds a copy of it in memory. It alone changes deliveries that exist, and
//! decides nothing about a delivery whose commit is in flight, so each decision builds on what is durable.

use super::change::{Change, Changes};
use super::command::{DeliveryCommand, DeliveryDepths};
use super::context::DeliveryContext;
use super::receiver_health::{AttemptEnd, ReceiverHealth};
use super::scheduler::{DeliveryScheduler, ScheduledDelivery};
use super::{receiver, restart, retention};
use crate::ports::AttemptOutcome;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, SpawnHandle};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::{self, Attempt, Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::StoreError;

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

/// What comes back to the actor.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) enum Event {
    AttemptEnded {
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        outcome: AttemptOutcome,
    },
    /// A commit about this delivery is durable. `None`: it has been removed.
    Committed(DeliveryId, Option<Delivery>),
}

pub struct DeliveryActor {
    context: Arc<DeliveryContext>,
    scheduler: DeliveryScheduler,
    changes: Changes,
    /// Deliveries with an attempt in flight.
    in_flight: HashSet<DeliveryId>,
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
        while !self.stopping && !self.context.fail_stop.has_tripped() {
            let Some((scheduled, health)) = self.scheduler.take() else {
                break;
            };
            self.begin(scheduled, health);
        }
        self.set_timer(now, ctx);
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

    fn begin(&mut self, scheduled: ScheduledDelivery, health: ReceiverHealth) {
        match self.load(scheduled) {
            Ok(Ok((delivery, webhook))) => {
                self.in_flight.insert(scheduled.id);
                self.attempt(scheduled, health, delivery, webhook);
            }
            Ok(Err(end)) => self.scheduler.ended(scheduled.webhook, health, end),
            Err(error) => self.context.fail_stop.trip(error.to_string()),
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

    /// The record and its receiver, or how the attempt ends with nothing sent.
    fn load(
        &mut self,
        scheduled: ScheduledDelivery,
    ) -> Result<Result<(Delivery, Webhook), AttemptEnd>, StoreError> {
        let ScheduledDelivery { id, due, .. } = scheduled;
        // A delivery whose commit is in flight comes back through the schedule when the commit has ended.
        if self.changes.is_committing(id) || self.in_flight.contains(&id) {
            return Ok(Err(AttemptEnd::Unsent));
        }
        let Some(delivery) = self.context.store.delivery(id).wait()? else {
            return Ok(Err(AttemptEnd::Unsent));
        };
        // A redelivery or an earlier attempt has scheduled the delivery anew.
        if delivery.state.due() != Some(due) {
            return Ok(Err(AttemptEnd::Unsent));
        }
        let reason = match receiver::of(&self.context, &delivery)? {
            Ok(webhook) => return Ok(Ok((delivery, webhook))),
            Err(reason) => reason,
        };
        let failed = delivery::give_up(&delivery, reason, (self.context.clock)());
        let writes = self.context.store.change_delivery(Some(&delivery), &failed);
        self.changes.commit(failed, writes, None);
        Ok(Err(match reason {
            NoReceiver::WebhookDeleted => AttemptEnd::Gone,
            NoReceiver::WebhookMoved => AttemptEnd::Unsent,
        }))
    }

    /// Tries a delivery again that could not be sent for a fault of the service. Its record does not change.
    fn put_off(&mut self, id: DeliveryId, reason: &str) {
        tracing::error!(delivery = %id, reason, "could not send a delivery; retrying later");
        // A delivery whose commit is in flight comes back through the schedule when the commit has ended.
        if self.changes.is_committing(id) {
            return;
        }
        match self.context.store.delivery(id).wait() {
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
            self.scheduler.schedule(at.unwrap_or(due), scheduled);
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
        match outcome {
            AttemptOutcome::Made(attempt) => {
                self.changes.decide(scheduled.id, Change::Attempt(attempt));
            }
            AttemptOutcome::NotSent(reason) => self.put_off(scheduled.id, &reason),
        }
    }

    fn committed(&mut self, id: DeliveryId, delivery: Option<Delivery>) {
        let deferred = self.changes.committed(id);
        // Scheduled whatever is decided next: a redelivery that is refused leaves the delivery as it is.
        if let Some(delivery) = &delivery {
            self.context.stats.deliveries.recorded(delivery);
            self.schedule(delivery, None);
        }
        // The first change begins a commit, which the others wait for.
        for change in deferred {
            self.changes.decide(id, change);
        }
    }
}

impl Actor for DeliveryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
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
        match event {
            Event::AttemptEnded {
                scheduled,
                health,
                outcome,
            } => self.attempt_ended(scheduled, health, outcome),
            Event::Committed(id, delivery) => self.committed(id, delivery),
        }
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
            } => self.changes.commit(delivery, writes, Some(reply)),
            DeliveryCommand::Redeliver { id, note, reply } => {
                self.changes.decide(id, Change::Redeliver { note, reply });
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
