//! The delivery actor: owns the schedule of all pending deliveries and the one timer for it.
//!
//! The due index in the store is what counts; this actor is its copy in memory. It alone changes deliveries that exist, so
//! what it decides about one builds on what is on the disk: while a commit of a delivery is on its way, nothing else is
//! decided about that delivery.

mod messages;

pub use messages::{
    AddDelivery, DeliveriesQueued, DeliveryError, ForgetDeliveries, GetOutboxDepths, OutboxDepths,
    Redeliver, Redelivered, StopDelivering,
};

use crate::clock::Clock;
use crate::fail_stop::FailStop;
use crate::figures::{Figures, between};
use crate::observer::Observer;
use crate::outbox::{Outbox, OutboxLimits, Parcel};
use crate::transport::Transport;
use actix::{Actor, Addr, AsyncContext, Context, Handler, Message, SpawnHandle};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{self, Attempt, Delivery, DeliveryId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::{Commit, EngineError};
use tintype_storage::store::{Store, StoreError, Writes};
use tokio::sync::oneshot;

const MAILBOX: usize = 4_096;
/// Deliveries read from the due index at a time when the process starts.
const STEP: usize = 1_000;
/// Deliveries that were overdue at the start are begun this far apart, so that a restart is no storm.
const SPREAD: Duration = Duration::from_millis(2);
/// No delivery is due later than the longest delay from now, but for the spreading. One that lies further ahead was recorded
/// under a clock that has been set back since, and does not wait for that moment to come again.
const SLACK: Duration = Duration::from_secs(60 * 60);
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
    was_ailing: bool,
    attempt: Attempt,
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
            stopping: false,
            own: None,
        }
    }

    /// Reads the whole due index. What is overdue is spread over the next moments.
    fn recover(&mut self) -> Result<(), StoreError> {
        let now = (self.context.clock)();
        let (mut after, mut overdue) = (None, 0u32);
        loop {
            let step = self.context.store.due(after, STEP)?;
            let Some((due, id, _)) = step.last() else {
                return Ok(());
            };
            after = Some((*due, *id));
            for (due, id, entry) in &step {
                let mut due = *due;
                if due < now {
                    due = now.plus(SPREAD.saturating_mul(overdue));
                    overdue += 1;
                }
                self.outbox.schedule(
                    due,
                    Parcel {
                        id: *id,
                        account: entry.account,
                        webhook: entry.webhook,
                    },
                );
            }
        }
    }

    /// Begins what is due and has room, and sets the timer for the next.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        let now = (self.context.clock)();
        self.outbox.pull_in(self.horizon(now));
        self.outbox.advance(now);
        while !self.stopping && !self.context.fail_stop.has_tripped() {
            let Some(parcel) = self.outbox.take() else {
                break;
            };
            self.begin(parcel);
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

    fn begin(&mut self, parcel: Parcel) {
        let was_ailing = self.outbox.is_ailing(parcel.webhook);
        match self.load(parcel) {
            Ok(Some((delivery, webhook))) => {
                self.under_way.insert(parcel.id);
                self.attempt(parcel, was_ailing, delivery, webhook);
            }
            Ok(None) => self.outbox.ended(parcel.webhook, was_ailing, None),
            Err(error) => self.context.fail_stop.trip(error.to_string()),
        }
    }

    /// Begins an attempt in a task of its own: actix would look at all of an actor's futures whenever one of them moves.
    fn attempt(&self, parcel: Parcel, was_ailing: bool, delivery: Delivery, webhook: Webhook) {
        let Some(own) = self.own.clone() else { return };
        let (round, at) = (delivery.round, (self.context.clock)());
        if let Some(due) = delivery.state.due() {
            let delays = &self.context.figures.deliveries.delays;
            delays.add_span(between(due, at));
        }
        let attempt = tokio::task::spawn_local(self.context.transport.attempt(delivery, webhook));
        tokio::task::spawn_local(async move {
            let attempt = attempt.await.unwrap_or_else(|panic| {
                tracing::error!(delivery = %parcel.id, %panic, "an attempt panicked");
                Attempt::broken(round, at, Duration::ZERO, "the sender failed unexpectedly")
            });
            own.do_send(AttemptEnded {
                parcel,
                was_ailing,
                attempt,
            });
        });
    }

    /// The record and its receiver; `None` when there is nothing to send.
    fn load(&mut self, parcel: Parcel) -> Result<Option<(Delivery, Webhook)>, StoreError> {
        // One that is being decided about comes back through the schedule when its commit has ended.
        if self.committing.contains_key(&parcel.id) || self.under_way.contains(&parcel.id) {
            return Ok(None);
        }
        let Some(delivery) = self.context.store.delivery(parcel.id)? else {
            return Ok(None);
        };
        let now = (self.context.clock)();
        match delivery.state.due() {
            None => return Ok(None),
            // An entry of the schedule that a redelivery or an earlier attempt has overtaken: the record's moment counts.
            Some(due) if now < due && due <= self.horizon(now) => {
                self.outbox.schedule(due, parcel);
                return Ok(None);
            }
            Some(_) => {}
        }
        match self.context.store.webhook(parcel.account, parcel.webhook)? {
            Some(webhook) => Ok(Some((delivery, webhook))),
            None => {
                let given_up = delivery::webhook_deleted(&delivery, (self.context.clock)());
                let writes = self
                    .context
                    .store
                    .change_delivery(Some(&delivery), &given_up);
                self.commit(given_up, writes, None);
                Ok(None)
            }
        }
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
        if self
            .context
            .store
            .webhook(before.account, before.webhook)?
            .is_none()
        {
            refuse(reply, DeliveryError::WebhookDeleted);
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

    fn queue(&mut self, delivery: &Delivery) {
        if let Some(due) = delivery.state.due() {
            let parcel = Parcel {
                id: delivery.id,
                account: delivery.account,
                webhook: delivery.webhook,
            };
            self.outbox.schedule(due, parcel);
        }
    }
}

impl Actor for DeliveryActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.own = Some(ctx.address());
        if let Err(error) = self.recover() {
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
            self.queue(delivery);
        }
        self.pump(ctx);
    }
}

impl Handler<AttemptEnded> for DeliveryActor {
    type Result = ();

    fn handle(&mut self, ended: AttemptEnded, ctx: &mut Self::Context) {
        let AttemptEnded {
            parcel,
            was_ailing,
            attempt,
        } = ended;
        self.under_way.remove(&parcel.id);
        self.context.figures.deliveries.attempted(&attempt);
        self.outbox
            .ended(parcel.webhook, was_ailing, Some(attempt.succeeded()));
        self.decide(parcel.id, Deferred::Attempt(attempt));
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
            self.queue(delivery);
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
