//! Changes of deliveries, one commit at a time per delivery.

use super::command::{DeliveryError, RedeliveryChange, ReplySender};
use super::context::DeliveryContext;
use super::receiver::FindResult;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tintype_storage::domain::audit_log::ToAuditEntry;
use tintype_storage::domain::delivery::{
    self, Attempt, Delivery, DeliveryId, FailReason, MAX_ATTEMPTS, NoReceiver,
};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::operator_event::EventSubject;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::{AUDIT_LOG, DELIVERIES};
use tintype_storage::store::{
    Decision, DeletionStep, RoundReads, StoreError, Writes, is_subject_erased, request_subject,
};

pub enum Change {
    Attempt {
        account: AccountId,
        webhook: WebhookId,
        attempt: Attempt,
    },
    Redeliver {
        to_entry: Option<ToAuditEntry<RedeliveryChange>>,
        reply: ReplySender<Delivery, DeliveryError>,
    },
}

impl Change {
    /// The receiver of the attempt that the change records.
    fn attempt_of(&self) -> Option<WebhookId> {
        match self {
            Self::Attempt { webhook, .. } => Some(*webhook),
            Self::Redeliver { .. } => None,
        }
    }
}

#[derive(Default)]
struct InFlight {
    attempt_of: Option<WebhookId>,
    /// The changes that wait for its end.
    deferred: VecDeque<Change>,
}

type ChangeListener = dyn Fn(DeliveryId, Option<Delivery>) + Send + Sync;

/// Decides changes and commits them.
pub struct Changes {
    context: Arc<DeliveryContext>,
    /// Deliveries with a change in flight.
    committing: HashMap<DeliveryId, InFlight>,
    /// Called on the engine's thread when a change has ended, with the delivery as it is now; `None` if nothing has to be scheduled: it
    /// was deleted, or the change no longer applied.
    on_change_ended: Arc<ChangeListener>,
}

impl Changes {
    pub fn new(
        context: Arc<DeliveryContext>,
        on_change_ended: impl Fn(DeliveryId, Option<Delivery>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            context,
            committing: HashMap::new(),
            on_change_ended: Arc::new(on_change_ended),
        }
    }

    /// The deliveries with a change in flight.
    pub fn committing(&self) -> impl Iterator<Item = DeliveryId> + '_ {
        self.committing.keys().copied()
    }

    /// The receivers of the attempts that are not recorded yet, although they have ended.
    pub fn attempted(&self) -> impl Iterator<Item = WebhookId> {
        self.committing.values().flat_map(|it| {
            let deferred = it.deferred.iter().filter_map(Change::attempt_of);
            it.attempt_of.into_iter().chain(deferred)
        })
    }

    pub fn is_committing(&self, id: DeliveryId) -> bool {
        self.committing.contains_key(&id)
    }

    /// Ends the change in flight of a delivery. Returns the changes that waited for it.
    pub fn committed(&mut self, id: DeliveryId) -> VecDeque<Change> {
        let ended = self.committing.remove(&id);
        ended.map(|it| it.deferred).unwrap_or_default()
    }

    /// Begins a change, which the caller must decide now. Returns `None` if the change waits for the one in flight.
    pub fn begin(&mut self, id: DeliveryId, change: Change) -> Option<Change> {
        if let Some(current) = self.committing.get_mut(&id) {
            current.deferred.push_back(change);
            return None;
        }
        let current = InFlight {
            attempt_of: change.attempt_of(),
            ..InFlight::default()
        };
        self.committing.insert(id, current);
        Some(change)
    }

    /// Records an attempt. Commits nothing if the delivery has been deleted. If the job or batch was erased during the attempt, the
    /// record does not contain what was sent and received.
    pub fn record(&mut self, account: AccountId, id: DeliveryId, attempt: Attempt) {
        let context = Arc::clone(&self.context);
        let attempt = Arc::new(attempt);
        let made = Arc::clone(&attempt);
        // A round that reads the record before its erasure is followed by an erasure of the attempts.
        let subject = made.has_content().then(|| request_subject(account, id));
        let decide = move |before: Option<Delivery>, reads: &RoundReads<'_>| {
            let Some(before) = before else {
                return Ok((Writes::new(), None));
            };
            let is_erased = made.has_content() && is_subject_erased(&before, &made, reads)?;
            let made = match is_erased {
                true => Cow::Owned(made.erased()),
                false => Cow::Borrowed(&*made),
            };
            // If the clock was set back during the attempt, the end by the earlier clock would delay the retry.
            let now = context.process.now();
            let at = if now < made.at { now } else { made.ended_at() };
            let after = delivery::record_attempt(&before, &made, at, &context.options.retry_delays);
            let mut writes = context.process.store.record_attempt(&before, &after, &made);
            let event = event_of(&context, &before, &after, &made);
            let event = event.map(|(delivery, added)| {
                writes.extend(added);
                delivery
            });
            Ok((writes, Some((before, after, event))))
        };
        let observer = self.context.process.observer.clone();
        self.decide(
            account,
            id,
            subject,
            decide,
            move |outcome, on_change_ended| {
                let Ok(recorded) = outcome else { return };
                let Some((before, after, event)) = recorded else {
                    return on_change_ended(id, None);
                };
                if let Some(observer) = observer {
                    observer.attempt_ended(&before, &attempt);
                }
                on_change_ended(id, Some(after));
                if let Some(event) = event {
                    on_change_ended(event.id, Some(event));
                }
            },
        );
    }

    /// Fails a delivery that has no receiver, unless it has changed meanwhile.
    pub fn give_up(&mut self, delivery: Delivery, reason: NoReceiver) {
        let (account, id) = (delivery.account, delivery.id);
        let context = Arc::clone(&self.context);
        let decide = move |before: Option<Delivery>, _: &RoundReads<'_>| {
            let Some(before) = before.filter(|it| *it == delivery) else {
                return Ok((Writes::new(), None));
            };
            let failed = delivery::give_up(&before, reason, context.process.now());
            let writes = context
                .process
                .store
                .change_delivery(Some(&before), &failed);
            Ok((writes, Some(failed)))
        };
        self.decide(
            account,
            id,
            None,
            decide,
            move |outcome, on_change_ended| {
                if let Ok(failed) = outcome {
                    on_change_ended(id, failed);
                }
            },
        );
    }

    /// Makes a delivery pending again. Returns false if it is refused.
    pub fn redeliver(
        &mut self,
        found: FindResult,
        to_entry: Option<ToAuditEntry<RedeliveryChange>>,
        reply: ReplySender<Delivery, DeliveryError>,
    ) -> Result<bool, StoreError> {
        let delivery = match found? {
            Some((delivery, Ok(_))) if delivery.attempts >= MAX_ATTEMPTS => {
                Err(DeliveryError::TooManyAttempts)
            }
            Some((delivery, Ok(_))) => Ok(delivery),
            Some((_, Err(reason))) => Err(reason.into()),
            None => Err(DeliveryError::NotFound),
        };
        let Delivery { account, id, .. } = match delivery {
            Ok(delivery) => delivery,
            Err(error) => {
                // Sending fails only when the caller is gone.
                drop(reply.send(Err(error)));
                return Ok(false);
            }
        };
        let context = Arc::clone(&self.context);
        let decide = move |before: Option<Delivery>, _: &RoundReads<'_>| {
            let Some(before) = before else {
                return Ok((Writes::new(), None));
            };
            let after = delivery::redeliver(&before, context.process.now());
            let mut writes = context.process.store.change_delivery(Some(&before), &after);
            if let Some(to_entry) = &to_entry {
                let after = after.clone();
                let change = RedeliveryChange { before, after };
                let entry = to_entry(&change);
                writes.push(AUDIT_LOG.put(&entry.id, &entry));
            }
            Ok((writes, Some(after)))
        };
        self.decide(
            account,
            id,
            None,
            decide,
            move |outcome, on_change_ended| match outcome {
                Ok(after) => {
                    drop(reply.send(after.clone().ok_or(DeliveryError::NotFound)));
                    on_change_ended(id, after);
                }
                Err(error) => drop(reply.send(Err(DeliveryError::Store(error)))),
            },
        );
        Ok(true)
    }

    /// Commits a new delivery, and replies once it is durable.
    pub fn add(
        &mut self,
        delivery: Delivery,
        writes: Writes,
        reply: ReplySender<Delivery, DeliveryError>,
    ) {
        let id = delivery.id;
        self.committing.entry(id).or_default();
        let on_change_ended = Arc::clone(&self.on_change_ended);
        self.context
            .process
            .store
            .commit(writes, move |outcome| match outcome {
                Ok(()) => {
                    drop(reply.send(Ok(delivery.clone())));
                    on_change_ended(id, Some(delivery));
                }
                Err(error) => drop(reply.send(Err(DeliveryError::Store(error.into())))),
            });
    }

    /// Deletes deliveries, or none of them if one has changed since it was read. Replies with the next cursor.
    pub fn delete(&mut self, step: DeletionStep, reply: ReplySender<Vec<u8>, StoreError>) {
        let DeletionStep {
            deliveries: found,
            writes,
            cursor,
        } = step;
        if writes.is_empty() {
            return drop(reply.send(Ok(cursor)));
        }
        let of: Vec<_> = found.iter().map(|it| (it.account, it.id)).collect();
        let ids: Vec<DeliveryId> = found.iter().map(|it| it.id).collect();
        let decide = move |now: Vec<Option<Delivery>>, _: &RoundReads<'_>| {
            let is_unchanged = now.iter().flatten().eq(&found);
            let writes = is_unchanged.then(|| writes.clone());
            Ok((writes.unwrap_or_default(), ()))
        };
        self.decide_all(of, None, decide, move |outcome, on_change_ended| {
            if outcome.is_ok() {
                ids.into_iter().for_each(|id| on_change_ended(id, None));
            }
            drop(reply.send(outcome.map(|()| cursor)));
        });
    }

    fn decide<T: Send + 'static>(
        &mut self,
        account: AccountId,
        id: DeliveryId,
        subject: Option<ReadRequest>,
        decide: impl Fn(Option<Delivery>, &RoundReads<'_>) -> Decided<T> + Send + 'static,
        then: impl FnOnce(Result<T, StoreError>, &ChangeListener) + Send + 'static,
    ) {
        let decide = move |mut found: Vec<Option<Delivery>>, reads: &RoundReads<'_>| {
            decide(found.pop().flatten(), reads)
        };
        self.decide_all(vec![(account, id)], subject, decide, then);
    }

    fn decide_all<T: Send + 'static>(
        &mut self,
        of: Vec<(AccountId, DeliveryId)>,
        subject: Option<ReadRequest>,
        decide: impl Fn(Vec<Option<Delivery>>, &RoundReads<'_>) -> Decided<T> + Send + 'static,
        then: impl FnOnce(Result<T, StoreError>, &ChangeListener) + Send + 'static,
    ) {
        for (_, id) in &of {
            self.committing.entry(*id).or_default();
        }
        let on_change_ended = Arc::clone(&self.on_change_ended);
        let fail_stop = self.context.process.fail_stop.clone();
        let end = move |_, outcome: Result<T, StoreError>| {
            if let Err(error) = &outcome {
                fail_stop.trip(error.to_string());
            }
            then(outcome, &*on_change_ended);
        };
        let store = &self.context.process.store;
        let round = DeliveryRound {
            of,
            subject,
            decide,
        };
        store.decide(round, end);
    }
}

type Decided<T> = Result<(Writes, T), StoreError>;

/// A round that changes deliveries. It holds their records from before the read until the commit, so that no node overwrites the record
/// of another one.
struct DeliveryRound<D> {
    of: Vec<(AccountId, DeliveryId)>,
    /// A further initial read.
    subject: Option<ReadRequest>,
    /// Decides on the current deliveries, in the order of `of`.
    decide: D,
}

impl<D, T> Decision for DeliveryRound<D>
where
    D: Fn(Vec<Option<Delivery>>, &RoundReads<'_>) -> Decided<T> + Send + 'static,
    T: Send + 'static,
{
    type Outcome = T;

    fn locked_keys(&self) -> Vec<Key> {
        self.of.iter().map(|key| DELIVERIES.key(key)).collect()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let deliveries = self.of.iter().map(|key| DELIVERIES.request(key));
        deliveries.chain(self.subject.clone()).collect()
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Decided<T> {
        let found = self.of.iter().map(|key| reads.get(&DELIVERIES, key));
        (self.decide)(found.collect::<Result<_, _>>()?, reads)
    }
}

/// The operator event for a delivery that has used all attempts, with the writes that add it.
fn event_of(
    context: &DeliveryContext,
    before: &Delivery,
    after: &Delivery,
    last: &Attempt,
) -> Option<(Delivery, Writes)> {
    let is_exhausted = |it: &Delivery| it.state.reason() == Some(FailReason::AttemptsExhausted);
    if is_exhausted(before) || !is_exhausted(after) {
        return None;
    }
    let subject = EventSubject::of_delivery(after, last)?;
    let now = context.process.now();
    let id = DeliveryId(context.process.ids.next(now));
    let delivery = Delivery::of_operator_event(id, context.process.operator.as_deref()?, now);
    let writes = context.process.store.add_operator_event(&delivery, subject);
    Some((delivery, writes))
}
