//! The changes of deliveries: one commit at a time for each delivery.

use super::command::{DeliveryError, Redelivered, Reply};
use super::context::DeliveryContext;
use super::receiver::Found;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{self, Attempt, Delivery, DeliveryId, FailReason};
use tintype_storage::domain::operator_event::EventSubject;
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
    /// Deliveries whose change is being decided or committed, with the changes that wait for its end.
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

    /// The change of a delivery has ended. Returns the changes that waited for it.
    pub fn committed(&mut self, id: DeliveryId) -> VecDeque<Change> {
        self.committing.remove(&id).unwrap_or_default()
    }

    /// Begins a change: the records that it builds on are to be read now, and given to [`Changes::record`] or
    /// [`Changes::redeliver`]. `None`: it waits for the end of the one under way.
    pub fn begin(&mut self, id: DeliveryId, change: Change) -> Option<Change> {
        if let Some(deferred) = self.committing.get_mut(&id) {
            deferred.push_back(change);
            return None;
        }
        self.committing.insert(id, VecDeque::new());
        Some(change)
    }

    /// Records an attempt. `false`: nothing is committed, because the delivery is gone.
    pub fn record(&mut self, before: Option<Delivery>, attempt: &Attempt) -> bool {
        let Some(before) = before else {
            return false;
        };
        let id = before.id;
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
        true
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

    /// Sends a delivery again, or refuses to. `false`: nothing is committed.
    pub fn redeliver(
        &mut self,
        found: Found,
        note: Option<Note<Redelivered>>,
        reply: Reply<Delivery, DeliveryError>,
    ) -> Result<bool, StoreError> {
        let refused = match found? {
            Some((before, Ok(_))) => Ok(before),
            Some((_, Err(reason))) => Err(reason.into()),
            None => Err(DeliveryError::NotFound),
        };
        let before = match refused {
            Ok(before) => before,
            Err(error) => {
                // A caller that has gone needs no answer.
                drop(reply.send(Err(error)));
                return Ok(false);
            }
        };
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
        Ok(true)
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
