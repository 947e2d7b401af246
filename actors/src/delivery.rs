//! The delivery actor: owns the schedule of all pending deliveries and the one timer for it.
//!
//! The due index in the store is what counts; this actor is its copy in memory. It alone changes deliveries that exist, so
//! what it decides about one builds on what is on the disk: while a commit of a delivery is on its way, nothing else is
//! decided about that delivery.

mod messages;
mod receiver;
mod restart;

pub use messages::{
    AddDelivery, DeliveriesQueued, DeliveryError, ForgetDeliveries, GetOutboxDepths, OutboxDepths,
    Redeliver, Redelivered, StopDelivering,
};

use crate::clock::Clock;
use crate::fail_stop::FailStop;
use crate::figures::Figures;
use crate::observer::Observer;
use crate::outbox::{Ending, Outbox, OutboxLimits, Parcel, Standing};
use crate::transport::{AttemptOutcome, Transport};
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, SpawnHandle};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{self, Attempt, Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::{Commit, EngineError};
use tintype_storage::store::{Store, StoreError, Writes};
use tokio::sync::oneshot;

const MAILBOX: usize = 4_096;
/// No delivery is due later than the longest delay from now, but for the spreading. One that lies further ahead was recorded
/// under a clock that has been set back since, and does not wait for that moment to come again.
const SLACK: Duration = Duration::from_secs(60 * 60);
/// After this long a delivery is tried again that could not be sent for a fault of our own.
const NOT_SENT_DELAY: Duration = Duration::from_secs(30);
/// A clock that goes back by more milliseconds than these has been set, and what was scheduled by it moves along: a retry is due
/// a time after an attempt, whatever the clock calls that moment. It is late by one look at the schedule at the most.
const CLOCK_JITTER: i64 = 1_000;
/// The timer looks again after this long at the latest: the system's clock may be set meanwhile.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// What the delivery actor works with.
pub struct DeliveryContext {
    /// Where records lie.
    pub store: Store,
    /// The moment.
    pub clock: Clock,
    /// The delay before each retry.
    pub schedule: Vec<Duration>,
    /// How many attempts may be under way.
    pub limits: OutboxLimits,
    /// Makes the attempts.
    pub transport: Arc<dyn Transport>,
    /// What is counted.
    pub figures: Arc<Figures>,
    /// Follows jobs.
    pub observer: Option<Arc<dyn Observer>>,
    /// Ends the process.
    pub fail_stop: FailStop,
}

/// An attempt has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct AttemptEnded {
    parcel: Parcel,
    standing: Standing,
    outcome: AttemptOutcome,
}

/// A commit about this delivery is on the disk. `None`: it has been removed.
#[derive(Message)]
#[rtype(result = "()")]
struct Recorded(DeliveryId, Option<Delivery>);

/// What waits for a delivery's commit to end.
enum Deferred {
    Attempt(Attempt),
    Redeliver(
        Option<Note<Redelivered>>,
        oneshot::Sender<Result<Delivery, DeliveryError>>,
    ),
}

/// Makes deliveries.
pub struct DeliveryActor {
    context: Arc<DeliveryContext>,
    outbox: Outbox,
    /// Deliveries whose commit is on its way, with what is to be decided after it.
    committing: HashMap<DeliveryId, VecDeque<Deferred>>,
    /// Deliveries with an attempt under way.
    under_way: HashSet<DeliveryId>,
    timer: Option<(Timestamp, SpawnHandle)>,
    /// The moment of the last look at the schedule.
    newest: Timestamp,
    stopping: bool,
    /// This actor, once it runs: what ends elsewhere comes back as a message.
    own: Option<Addr<Self>>,
}

impl DeliveryActor {
    /// An actor that will take up what the store says is pending.
    pub fn new(context: Arc<DeliveryContext>) -> Self {
        let outbox = Outbox::new(context.limits);
        Self {
            context,
            outbox,
            committing: HashMap::new(),
            under_way: HashSet::new(),
            timer: None,
            newest: Timestamp::from_millis(0),
            stopping: false,
            own: None,
        }
    }

    /// Begins what is due and has room, and sets the timer for the next.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        let now = (self.context.clock)();
        let set_back = self.newest.millis() - now.millis();
        if set_back > CLOCK_JITTER {
            self.outbox.set_back(set_back);
        }
        self.newest = now;
        self.outbox.pull_in(self.horizon(now));
        self.outbox.advance(now);
        while !self.stopping && !self.context.fail_stop.has_tripped() {
            let Some((parcel, standing)) = self.outbox.take() else {
                break;
            };
            self.begin(parcel, standing);
        }
        self.arm(now, ctx);
    }

    fn horizon(&self, now: Timestamp) -> Timestamp {
        let longest = self.context.schedule.iter().max().copied();
        now.plus(longest.unwrap_or_default()).plus(SLACK)
    }

    fn arm(&mut self, now: Timestamp, ctx: &mut Context<Self>) {
        let Some(due) = self.outbox.next_due() else {
            return;
        };
        if self.timer.as_ref().is_some_and(|(armed, _)| *armed <= due) {
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

    fn begin(&mut self, parcel: Parcel, standing: Standing) {
        match self.load(parcel) {
            Ok(Ok((delivery, webhook))) => {
                self.under_way.insert(parcel.id);
                self.attempt(parcel, standing, delivery, webhook);
            }
            Ok(Err(ending)) => self.outbox.ended(parcel.webhook, standing, ending),
            Err(error) => self.context.fail_stop.trip(error.to_string()),
        }
    }

    /// Begins an attempt in a task of its own: actix would look at all of an actor's futures whenever one of them moves.
    fn attempt(&self, parcel: Parcel, standing: Standing, delivery: Delivery, webhook: Webhook) {
        let Some(own) = self.own.clone() else { return };
        let (round, at) = (delivery.round, (self.context.clock)());
        self.context.figures.deliveries.began(&delivery, at);
        let attempt = tokio::task::spawn_local(self.context.transport.attempt(delivery, webhook));
        tokio::task::spawn_local(async move {
            let outcome = attempt.await.unwrap_or_else(|panic| {
                tracing::error!(delivery = %parcel.id, %panic, "an attempt panicked");
                let text = "the sender failed unexpectedly";
                AttemptOutcome::Made(Attempt::broken(round, at, Duration::ZERO, text))
            });
            own.do_send(AttemptEnded {
                parcel,
                standing,
                outcome,
            });
        });
    }

    /// The record and its receiver, or how it ends with nothing sent.
    fn load(&mut self, parcel: Parcel) -> Result<Result<(Delivery, Webhook), Ending>, StoreError> {
        // One that is being decided about comes back through the schedule when its commit has ended.
        if self.committing.contains_key(&parcel.id) || self.under_way.contains(&parcel.id) {
            return Ok(Err(Ending::Unsent));
        }
        let Some(delivery) = self.context.store.delivery(parcel.id)? else {
            return Ok(Err(Ending::Unsent));
        };
        // A redelivery or an earlier attempt has overtaken this one, and has scheduled its own.
        if delivery.state.due() != Some(parcel.due) {
            return Ok(Err(Ending::Unsent));
        }
        let reason = match receiver::of(&self.context.store, &delivery)? {
            Ok(webhook) => return Ok(Ok((delivery, webhook))),
            Err(reason) => reason,
        };
        let given_up = delivery::give_up(&delivery, reason, (self.context.clock)());
        let writes = self
            .context
            .store
            .change_delivery(Some(&delivery), &given_up);
        self.commit(given_up, writes, None);
        Ok(Err(match reason {
            NoReceiver::WebhookDeleted => Ending::Gone,
            NoReceiver::WebhookMoved => Ending::Unsent,
        }))
    }

    /// Decides now, or once the commit that is on its way has ended.
    fn decide(&mut self, id: DeliveryId, wanted: Deferred) {
        if let Some(deferred) = self.committing.get_mut(&id) {
            deferred.push_back(wanted);
            return;
        }
        let outcome = match wanted {
            Deferred::Attempt(attempt) => self.record(id, &attempt),
            Deferred::Redeliver(note, reply) => self.redeliver(id, note, reply),
        };
        if let Err(error) = outcome {
            self.context.fail_stop.trip(error.to_string());
        }
    }

    /// Tries one again that could not be sent for a fault of our own. Nothing of that goes on record.
    fn put_off(&mut self, id: DeliveryId, reason: &str) {
        tracing::error!(delivery = %id, reason, "a delivery could not be sent; it is tried again in a while");
        // One that is being decided about comes back through the schedule when its commit has ended.
        if self.committing.contains_key(&id) {
            return;
        }
        match self.context.store.delivery(id) {
            Ok(Some(delivery)) => {
                let moment = (self.context.clock)().plus(NOT_SENT_DELAY);
                self.queue(&delivery, Some(moment));
            }
            Ok(None) => {}
            Err(error) => self.context.fail_stop.trip(error.to_string()),
        }
    }

    fn record(&mut self, id: DeliveryId, attempt: &Attempt) -> Result<(), StoreError> {
        let Some(before) = self.context.store.delivery(id)? else {
            return Ok(());
        };
        if let Some(observer) = &self.context.observer {
            observer.attempt_ended(&before, attempt);
        }
        let after = delivery::record_attempt(&before, attempt, &self.context.schedule);
        let writes = self.context.store.record_attempt(&before, &after, attempt);
        self.commit(after, writes, None);
        Ok(())
    }

    fn redeliver(
        &mut self,
        id: DeliveryId,
        note: Option<Note<Redelivered>>,
        reply: oneshot::Sender<Result<Delivery, DeliveryError>>,
    ) -> Result<(), StoreError> {
        let refuse = |reply: oneshot::Sender<_>, error| drop(reply.send(Err(error)));
        let Some(before) = self.context.store.delivery(id)? else {
            refuse(reply, DeliveryError::NotFound);
            return Ok(());
        };
        if let Err(reason) = receiver::of(&self.context.store, &before)? {
            refuse(reply, reason.into());
            return Ok(());
        }
        let after = delivery::redeliver(&before, (self.context.clock)());
        let mut writes = self.context.store.change_delivery(Some(&before), &after);
        if let Some(note) = note {
            let change = Redelivered {
                before,
                after: after.clone(),
            };
            writes.push(self.context.store.add_audit(&note(&change)));
        }
        self.commit(after, writes, Some(reply));
        Ok(())
    }

    fn commit(
        &mut self,
        delivery: Delivery,
        writes: Writes,
        reply: Option<oneshot::Sender<Result<Delivery, DeliveryError>>>,
    ) {
        self.committing.entry(delivery.id).or_default();
        let (own, fail_stop) = (self.own.clone(), self.context.fail_stop.clone());
        let done = Box::new(move |outcome: Result<(), EngineError>| match outcome {
            Ok(()) => {
                if let Some(reply) = reply {
                    drop(reply.send(Ok(delivery.clone())));
                }
                if let Some(own) = own {
                    own.do_send(Recorded(delivery.id, Some(delivery)));
                }
            }
            Err(error) => {
                fail_stop.trip(error.to_string());
                if let Some(reply) = reply {
                    drop(reply.send(Err(DeliveryError::Store(error.into()))));
                }
            }
        });
        self.context.store.engine().submit(Commit { writes, done });
    }

    /// Removes old deliveries. Here, because a wish to send one of them again may come at the same moment.
    fn forget(&mut self, command: ForgetDeliveries) -> Result<(), StoreError> {
        let ForgetDeliveries {
            older_than,
            cursor,
            limit,
            reply,
        } = command;
        let keep = |id| self.committing.contains_key(&id) || self.under_way.contains(&id);
        let forgotten = self
            .context
            .store
            .forget_deliveries(older_than, &cursor, limit, keep)?;
        if forgotten.writes.is_empty() {
            drop(reply.send(Ok(forgotten.cursor)));
            return Ok(());
        }
        for id in &forgotten.ids {
            self.committing.entry(*id).or_default();
        }
        let (own, fail_stop) = (self.own.clone(), self.context.fail_stop.clone());
        let done = Box::new(move |outcome: Result<(), EngineError>| {
            let outcome = outcome.map_err(StoreError::from);
            match (&outcome, own) {
                (Ok(()), Some(own)) => forgotten
                    .ids
                    .iter()
                    .for_each(|id| own.do_send(Recorded(*id, None))),
                (Ok(()), None) => {}
                (Err(error), _) => fail_stop.trip(error.to_string()),
            }
            drop(reply.send(outcome.map(|()| forgotten.cursor)));
        });
        let writes = forgotten.writes;
        self.context.store.engine().submit(Commit { writes, done });
        Ok(())
    }

    /// Puts a delivery into the schedule, at this moment or else at the one when it is due.
    fn queue(&mut self, delivery: &Delivery, moment: Option<Timestamp>) {
        if let Some(due) = delivery.state.due() {
            let parcel = Parcel {
                id: delivery.id,
                account: delivery.account,
                webhook: delivery.webhook,
                due,
            };
            self.outbox.schedule(moment.unwrap_or(due), parcel);
        }
    }
}

impl Actor for DeliveryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.own = Some(ctx.address());
        let now = (self.context.clock)();
        if let Err(error) = restart::recover(&self.context.store, &mut self.outbox, now) {
            self.context.fail_stop.trip(error.to_string());
        }
        self.pump(ctx);
    }
}

impl Handler<DeliveriesQueued> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, hint: DeliveriesQueued, ctx: &mut Self::Context) {
        for delivery in &hint.0 {
            self.context.figures.deliveries.recorded(delivery);
            self.queue(delivery, None);
        }
        self.pump(ctx);
    }
}

impl Handler<AttemptEnded> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, ended: AttemptEnded, ctx: &mut Self::Context) {
        let AttemptEnded {
            parcel,
            standing,
            outcome,
        } = ended;
        self.under_way.remove(&parcel.id);
        self.context.figures.deliveries.attempted(&outcome);
        let ending = match &outcome {
            AttemptOutcome::Made(attempt) if attempt.succeeded() => {
                Ending::Succeeded(Duration::from_millis(attempt.duration_ms))
            }
            AttemptOutcome::Made(_) => Ending::Failed,
            AttemptOutcome::NotSent(_) => Ending::Unsent,
        };
        self.outbox.ended(parcel.webhook, standing, ending);
        match outcome {
            AttemptOutcome::Made(attempt) => self.decide(parcel.id, Deferred::Attempt(attempt)),
            AttemptOutcome::NotSent(reason) => self.put_off(parcel.id, &reason),
        }
        self.pump(ctx);
    }
}

impl Handler<Recorded> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, recorded: Recorded, ctx: &mut Self::Context) {
        let Recorded(id, delivery) = recorded;
        let mut deferred = self.committing.remove(&id).unwrap_or_default();
        // Scheduled whatever is decided next: a wish that is refused leaves the delivery as it is.
        if let Some(delivery) = &delivery {
            self.context.figures.deliveries.recorded(delivery);
            self.queue(delivery, None);
        }
        // The first begins a commit of its own; the others wait for that one.
        while let Some(wanted) = deferred.pop_front() {
            self.decide(id, wanted);
        }
        self.pump(ctx);
    }
}

impl Handler<ForgetDeliveries> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, command: ForgetDeliveries, _: &mut Self::Context) {
        if let Err(error) = self.forget(command) {
            self.context.fail_stop.trip(error.to_string());
        }
    }
}

impl Handler<AddDelivery> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, command: AddDelivery, _: &mut Self::Context) {
        let store = &self.context.store;
        let mut writes = store.add_delivery(&command.delivery);
        writes.extend(command.audit.map(|entry| store.add_audit(&entry)));
        self.commit(command.delivery, writes, Some(command.reply));
    }
}

impl Handler<Redeliver> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, command: Redeliver, _: &mut Self::Context) {
        self.decide(command.id, Deferred::Redeliver(command.note, command.reply));
    }
}

impl Handler<StopDelivering> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, _: StopDelivering, _: &mut Self::Context) {
        self.stopping = true;
    }
}

impl Handler<GetOutboxDepths> for DeliveryActor {
    type Result = OutboxDepths;

    fn handle(&mut self, _: GetOutboxDepths, _: &mut Self::Context) -> OutboxDepths {
        OutboxDepths {
            waiting: self.outbox.waiting(),
            under_way: self.outbox.under_way(),
        }
    }
}
