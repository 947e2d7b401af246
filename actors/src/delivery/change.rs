//! The changes of deliveries: one commit at a time for each delivery.

use super::command::{DeliveryError, Redelivered, Reply};
use super::context::DeliveryContext;
use super::receiver;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{self, Attempt, Delivery, DeliveryId, FailReason};
use tintype_storage::domain::operator_event::EventSubject;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{StoreError, Writes};

/// What is to be decided about a delivery.
pub enum Change {
    Attempt(Attempt),
    Redeliver {
        note: Option<Note<Redelivered>>,
        reply: Reply<Delivery, DeliveryError>,
    },
}

type Committed = dyn Fn(DeliveryId, Option<Delivery>) + Send + Sync;

/// Decides changes and commits them.
pub struct Changes {
    context: Arc<DeliveryContext>,
    /// Deliveries whose commit is in flight, with the changes that wait for it.
    committing: HashMap<DeliveryId, VecDeque<Change>>,
    /// Hears of each commit that is durable, on the engine's thread.
    on_commit: Arc<Committed>,
}

impl Changes {
    pub fn new(
        context: Arc<DeliveryContext>,
        on_commit: impl Fn(DeliveryId, Option<Delivery>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            context,
            committing: HashMap::new(),
            on_commit: Arc::new(on_commit),
        }
    }

    pub fn context(&self) -> &DeliveryContext {
        &self.context
    }

    pub fn is_committing(&self, id: DeliveryId) -> bool {
        self.committing.contains_key(&id)
    }

    /// The commit of a delivery has ended. Returns the changes that waited for it.
    pub fn committed(&mut self, id: DeliveryId) -> VecDeque<Change> {
        self.committing.remove(&id).unwrap_or_default()
    }

    /// Decides now, or once the commit that is in flight has ended.
    pub fn decide(&mut self, id: DeliveryId, change: Change) {
        if let Some(deferred) = self.committing.get_mut(&id) {
            deferred.push_back(change);
            return;
        }
        let outcome = match change {
            Change::Attempt(attempt) => self.record(id, &attempt),
            Change::Redeliver { note, reply } => self.redeliver(id, note, reply),
        };
        if let Err(error) = outcome {
            self.context.fail_stop.trip(error.to_string());
        }
    }

    fn record(&mut self, id: DeliveryId, attempt: &Attempt) -> Result<(), StoreError> {
        let Some(before) = self.context.store.delivery(id).wait()? else {
            return Ok(());
        };
        if let Some(observer) = &self.context.observer {
            observer.attempt_ended(&before, attempt);
        }
        let after = delivery::record_attempt(&before, attempt, &self.context.retry_delays);
        let mut writes = self.context.store.record_attempt(&before, &after, attempt);
        let event = self.event_of(&before, &after, attempt);
        let event = event.map(|(delivery, added)| {
            writes.extend(added);
            delivery
        });
        self.submit(writes, vec![id], move |outcome, on_commit| {
            if outcome.is_ok() {
                on_commit(id, Some(after));
                if let Some(event) = event {
                    on_commit(event.id, Some(event));
                }
            }
        });
        Ok(())
    }

    /// The event for the operator that a delivery has used all attempts, with the writes that add it.
    fn event_of(
        &self,
        before: &Delivery,
        after: &Delivery,
        last: &Attempt,
    ) -> Option<(Delivery, Writes)> {
        let DeliveryContext {
            store,
            operator,
            ids,
            clock,
            ..
        } = &*self.context;
        let is_exhausted = |it: &Delivery| it.state.reason() == Some(FailReason::AttemptsExhausted);
        if is_exhausted(before) || !is_exhausted(after) {
            return None;
        }
        let subject = EventSubject::of_delivery(after, last)?;
        let now = clock();
        let id = DeliveryId(ids.next(now));
        let delivery = Delivery::of_operator_event(id, operator.as_deref()?, now);
        let writes = store.add_operator_event(&delivery, subject);
        Some((delivery, writes))
    }

    fn redeliver(
        &mut self,
        id: DeliveryId,
        note: Option<Note<Redelivered>>,
        reply: Reply<Delivery, DeliveryError>,
    ) -> Result<(), StoreError> {
        let refuse = |reply: Reply<_, _>, error| drop(reply.send(Err(error)));
        let Some(before) = self.context.store.delivery(id).wait()? else {
            refuse(reply, DeliveryError::NotFound);
            return Ok(());
        };
        if let Err(reason) = receiver::of(&self.context, &before)? {
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

    /// Commits what a delivery is from now on, and answers once that is durable.
    pub fn commit(
        &mut self,
        delivery: Delivery,
        writes: Writes,
        reply: Option<Reply<Delivery, DeliveryError>>,
    ) {
        let id = delivery.id;
        self.submit(writes, vec![id], move |outcome, on_commit| {
            if let Some(reply) = reply {
                let outcome = outcome.clone().map(|()| delivery.clone());
                drop(reply.send(outcome.map_err(DeliveryError::Store)));
            }
            if outcome.is_ok() {
                on_commit(id, Some(delivery));
            }
        });
    }

    /// Commits the removal of deliveries.
    pub fn commit_removal(
        &mut self,
        ids: Vec<DeliveryId>,
        writes: Writes,
        then: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        self.submit(writes, ids.clone(), move |outcome, on_commit| {
            if outcome.is_ok() {
                ids.into_iter().for_each(|id| on_commit(id, None));
            }
            then(outcome);
        });
    }

    fn submit(
        &mut self,
        writes: Writes,
        ids: Vec<DeliveryId>,
        then: impl FnOnce(Result<(), StoreError>, &Committed) + Send + 'static,
    ) {
        for id in ids {
            self.committing.entry(id).or_default();
        }
        let on_commit = Arc::clone(&self.on_commit);
        self.context.store.commit(writes, move |outcome| {
            then(outcome.map_err(StoreError::from), &*on_commit);
        });
    }
}
