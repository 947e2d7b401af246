//! Deliveries: which ones must exist, and how attempts change them.

mod attempts;

use super::Model;
use super::batches::BatchEnd;
use super::hooks::{Hook, Hooks};
use super::jobs::JobEnd;
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::delivery::{
    Attempt, Delivery, DeliveryId, DeliveryKind, DeliveryState, FailReason,
};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId};
use tintype_storage::domain::webhook::WebhookId;
use uuid::Uuid;

/// A delivery that is due later than the longest delay plus this was recorded before the clock was set back.
const SLACK: i64 = 3_600_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending { due: i64, failures: u32 },
    Delivered { at: i64 },
    Failed { at: i64, exhausted: bool },
}

#[derive(Clone, Debug)]
pub struct KnownDelivery {
    pub account: AccountId,
    pub webhook: WebhookId,
    subject: Uuid,
    /// The URL that its job named.
    named: Option<String>,
    is_test: bool,
    pub(super) attempts: u32,
    round: u32,
    pub(super) created_at: i64,
    /// By how much the clock had been set back in total when its due time was chosen.
    set_back: i64,
    pub(super) state: State,
    dues: BTreeSet<i64>,
}

/// All deliveries, and their events in this life of the process.
pub struct Deliveries {
    pub(super) owed: BTreeMap<DeliveryId, KnownDelivery>,
    in_flight: BTreeSet<DeliveryId>,
    /// By how much the clock had been set back when the last attempt began.
    began: BTreeMap<DeliveryId, i64>,
    /// Attempts that have ended but are not recorded yet.
    returned: BTreeMap<DeliveryId, Vec<Attempt>>,
    panicked: BTreeMap<DeliveryId, u32>,
    tests_asked: BTreeSet<DeliveryId>,
    redeliveries_asked: BTreeMap<DeliveryId, u32>,
    /// Deliveries that ended before this time may be deleted.
    pub(super) forget_before: i64,
    /// The newest end of a deleted delivery.
    pub(super) newest_forgotten: i64,
    /// The recorded mark: deliveries that ended before this time were deleted.
    pub(super) mark: Option<i64>,
}

/// The delivery changes of a commit.
pub struct Step<'a> {
    pub written: BTreeMap<DeliveryId, Option<Delivery>>,
    pub accounts: BTreeMap<DeliveryId, Option<AccountId>>,
    pub dues: BTreeMap<(DeliveryId, i64), bool>,
    pub attempts: BTreeMap<(DeliveryId, u32), Option<Attempt>>,
    /// The new mark of deleted deliveries.
    pub mark: Option<i64>,
    pub ended: Vec<JobEnd>,
    /// Batches that have ended in the commit.
    pub batches: Vec<BatchEnd>,
    /// The webhooks at the time of the decision.
    pub hooks: &'a Hooks,
    /// By how much the clock had been set back at that time.
    pub set_back: i64,
}

impl Deliveries {
    pub fn none() -> Self {
        Self {
            owed: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            began: BTreeMap::new(),
            returned: BTreeMap::new(),
            panicked: BTreeMap::new(),
            tests_asked: BTreeSet::new(),
            redeliveries_asked: BTreeMap::new(),
            forget_before: i64::MIN,
            newest_forgotten: i64::MIN,
            mark: None,
        }
    }

    pub fn life_begins(&mut self) {
        self.in_flight.clear();
        self.returned.clear();
        self.panicked.clear();
        self.tests_asked.clear();
        self.redeliveries_asked.clear();
        self.forget_before = i64::MIN;
    }

    pub fn ids(&self) -> Vec<DeliveryId> {
        self.owed.keys().copied().collect()
    }

    pub fn pending(&self) -> Vec<DeliveryId> {
        let pending = |it: &&DeliveryId| matches!(self.owed[it].state, State::Pending { .. });
        self.owed.keys().filter(pending).copied().collect()
    }

    pub fn get(&self, id: DeliveryId) -> Option<&KnownDelivery> {
        self.owed.get(&id)
    }

    pub fn is_delivered(&self, id: DeliveryId) -> bool {
        matches!(
            self.owed.get(&id).map(|it| it.state),
            Some(State::Delivered { .. })
        )
    }

    pub fn ask_test(&mut self, id: DeliveryId) {
        self.tests_asked.insert(id);
    }

    pub fn ask_redelivery(&mut self, id: DeliveryId) {
        *self.redeliveries_asked.entry(id).or_default() += 1;
    }

    pub fn ask_to_forget(&mut self, before: i64) {
        self.forget_before = self.forget_before.max(before);
    }

    pub fn attempt_returns(&mut self, id: DeliveryId, attempt: &Attempt) {
        self.in_flight.remove(&id);
        self.returned.entry(id).or_default().push(attempt.clone());
    }

    pub fn attempt_is_not_sent(&mut self, id: DeliveryId) {
        self.in_flight.remove(&id);
    }

    pub fn attempt_panics(&mut self, id: DeliveryId) {
        self.in_flight.remove(&id);
        *self.panicked.entry(id).or_default() += 1;
    }
}

/// The end of a job or batch, which may require a delivery.
struct End<'a> {
    id: DeliveryId,
    account: AccountId,
    kind: DeliveryKind,
    at: i64,
    /// Is the end reported to a webhook?
    is_reported: bool,
    /// The webhook that the caller named.
    named: Option<&'a (WebhookId, String)>,
}

/// The receiver of an end: the named webhook, by default the oldest.
fn chosen<'a>(hooks: &'a [Hook], named: Option<&str>) -> Option<&'a Hook> {
    match named {
        Some(url) => hooks.iter().find(|it| it.url == url),
        None => hooks.first(),
    }
}

fn read(state: DeliveryState) -> State {
    match state {
        DeliveryState::Pending { due, failures } => State::Pending {
            due: due.millis(),
            failures,
        },
        DeliveryState::Delivered { at } => State::Delivered { at: at.millis() },
        DeliveryState::Failed { reason, at } => State::Failed {
            at: at.millis(),
            exhausted: reason == FailReason::AttemptsExhausted,
        },
    }
}

/// May a delivery whose job named this URL go to this webhook?
fn fits(named: Option<&String>, hook: &Hook) -> bool {
    named.is_none_or(|url| *url == hook.url)
}

impl Model {
    /// Is there a webhook to which this delivery may be sent?
    pub fn has_receiver(&self, id: DeliveryId) -> bool {
        self.deliveries.get(id).is_some_and(|it| {
            let hooks = self.hooks_of(it.account);
            let mut own = hooks.iter().filter(|hook| hook.id == it.webhook);
            own.any(|hook| fits(it.named.as_ref(), hook))
        })
    }

    pub(super) fn deliveries_step(&mut self, mut step: Step<'_>, trace: &mut Vec<String>) {
        let ended = std::mem::take(&mut step.ended);
        for job in &ended {
            let end = End {
                id: DeliveryId(job.job.0),
                account: job.account,
                kind: DeliveryKind::Event,
                at: job.at,
                is_reported: !job.synchronous && !job.in_batch,
                named: job.callback.as_ref(),
            };
            self.check_end(&end, &mut step, trace);
        }
        for batch in &std::mem::take(&mut step.batches) {
            let end = End {
                id: DeliveryId(batch.batch.0),
                account: batch.account,
                kind: DeliveryKind::Batch,
                at: batch.at,
                is_reported: true,
                named: batch.callback.as_ref(),
            };
            self.check_end(&end, &mut step, trace);
        }
        for (id, delivery) in std::mem::take(&mut step.written) {
            match (delivery, self.deliveries.owed.get(&id).cloned()) {
                (Some(delivery), Some(before)) => {
                    self.delivery_changed(&delivery, &before, &mut step, trace)
                }
                (Some(delivery), None) => self.test_begins(&delivery, &mut step, trace),
                (None, Some(before)) => self.forgotten(id, &before, &mut step),
                (None, None) => self.fault(format!("delivery {id} is deleted, but never existed")),
            }
        }
        self.forgotten_before(step.mark);
        for ((id, due), _) in step.dues {
            self.fault(format!(
                "the due index of delivery {id} was changed without the delivery, at {due}"
            ));
        }
        for ((id, number), _) in step.attempts {
            self.fault(format!(
                "attempt {number} of delivery {id} was recorded without the delivery"
            ));
        }
        for (id, _) in step.accounts {
            self.fault(format!(
                "the account of delivery {id} was changed without the delivery"
            ));
        }
    }

    /// Checks the delivery of an end: the same commit adds it, for the webhooks at the time of the decision.
    fn check_end(&mut self, end: &End<'_>, step: &mut Step<'_>, trace: &mut Vec<String>) {
        let id = end.id;
        let written = step.written.remove(&id).flatten();
        let hooks = step.hooks.get(&end.account).map_or(&[][..], Vec::as_slice);
        let named = end.named;
        let receiver = chosen(hooks, named.map(|(_, url)| url.as_str()));
        let wanted = match (receiver, named) {
            _ if !end.is_reported => None,
            (Some(hook), _) => Some((hook.id, hook.url.clone(), true)),
            (None, Some((id, url))) => Some((*id, url.clone(), false)),
            (None, None) => None,
        };
        let found = written.as_ref().map(|it| {
            let due = matches!(it.state, DeliveryState::Pending { due, failures: 0 } if due.millis() <= self.clock_high);
            let is_there = hooks.iter().any(|hook| hook.id == it.webhook);
            let failed = match it.state {
                DeliveryState::Failed { reason, .. } => Some(reason),
                _ => None,
            };
            // Without a receiver the delivery fails at once, with the reason.
            let expected = if is_there { FailReason::WebhookMoved } else { FailReason::WebhookDeleted };
            let is_wrong = failed.map_or(!due, |it| it != expected);
            (it.webhook, it.url.clone(), due || is_wrong)
        });
        if found != wanted {
            self.fault(format!(
                "the end of {} requires the delivery {wanted:?}, recorded is {found:?}",
                id.0
            ));
        }
        if let Some(delivery) = written {
            let fits = delivery.id == id
                && delivery.subject == id.0
                && delivery.account == end.account
                && delivery.kind == end.kind
                && delivery.created_at.millis() == end.at
                && delivery.attempts == 0
                && delivery.round == 0;
            if !fits {
                self.fault(format!("the delivery of {} is {delivery:?}", id.0));
            }
            self.count(match end.kind {
                DeliveryKind::Batch => "deliveries of batches",
                DeliveryKind::Event | DeliveryKind::Test | DeliveryKind::Operator => "deliveries",
            });
            self.add(&delivery, named.map(|(_, url)| url.clone()), step, trace);
        }
    }

    fn test_begins(&mut self, delivery: &Delivery, step: &mut Step<'_>, trace: &mut Vec<String>) {
        let asked =
            delivery.kind == DeliveryKind::Test && self.deliveries.tests_asked.remove(&delivery.id);
        if !asked {
            self.fault(format!("no event explains the delivery {delivery:?}"));
        }
        self.count("tests of webhooks");
        self.audited_changes
            .insert((Action::WebhookTest.as_str(), delivery.id.0));
        self.add(delivery, None, step, trace);
    }

    fn add(
        &mut self,
        delivery: &Delivery,
        named: Option<String>,
        step: &mut Step<'_>,
        trace: &mut Vec<String>,
    ) {
        trace.push(format!(
            "delivery {} is {:?}",
            self.name_of(delivery.subject),
            delivery.state
        ));
        if step.accounts.remove(&delivery.id).flatten() != Some(delivery.account) {
            self.fault(format!(
                "delivery {} cannot be found by its id",
                delivery.id
            ));
        }
        let owed = KnownDelivery {
            account: delivery.account,
            webhook: delivery.webhook,
            subject: delivery.subject,
            named,
            is_test: delivery.kind == DeliveryKind::Test,
            attempts: 0,
            round: 0,
            created_at: delivery.created_at.millis(),
            set_back: step.set_back,
            state: read(delivery.state),
            dues: BTreeSet::new(),
        };
        self.deliveries.owed.insert(delivery.id, owed);
        self.dues(delivery.id, step);
    }

    /// Checks that the due index contains exactly the pending deliveries.
    fn dues(&mut self, id: DeliveryId, step: &mut Step<'_>) {
        let Some(owed) = self.deliveries.owed.get_mut(&id) else {
            return;
        };
        let of_this: Vec<((DeliveryId, i64), bool)> = step
            .dues
            .range((id, i64::MIN)..=(id, i64::MAX))
            .map(|(key, is_there)| (*key, *is_there))
            .collect();
        for (key, is_there) in of_this {
            step.dues.remove(&key);
            if is_there {
                owed.dues.insert(key.1);
            } else {
                owed.dues.remove(&key.1);
            }
        }
        let wanted: BTreeSet<i64> = match owed.state {
            State::Pending { due, .. } => [due].into(),
            State::Delivered { .. } | State::Failed { .. } => BTreeSet::new(),
        };
        if owed.dues != wanted {
            let text = format!(
                "delivery {id} is due at {wanted:?}, the index says {:?}",
                owed.dues
            );
            self.fault(text);
        }
    }

    fn delivery_changed(
        &mut self,
        delivery: &Delivery,
        before: &KnownDelivery,
        step: &mut Step<'_>,
        trace: &mut Vec<String>,
    ) {
        let id = delivery.id;
        let attempt = step.attempts.remove(&(id, before.attempts)).flatten();
        let now = read(delivery.state);
        trace.push(format!(
            "delivery {} {:?} -> {now:?}",
            self.name_of(before.subject),
            before.state
        ));
        let mut set_back = step.set_back;
        let same = delivery.account == before.account
            && delivery.webhook == before.webhook
            && delivery.subject == before.subject;
        let fits = match attempt {
            Some(attempt) => {
                self.count("attempts recorded");
                let began = self.deliveries.began.get(&id).copied();
                let began = began.unwrap_or(step.set_back);
                let at = self.counts_from(&attempt, now, step.set_back - began);
                if at >= attempt.at.millis() {
                    set_back = began;
                }
                let expected = self.after(before, &attempt, at);
                self.was_made(id, &attempt)
                    && delivery.attempts == before.attempts + 1
                    && delivery.round == before.round
                    && now == expected
            }
            None if delivery.round == before.round + 1 => {
                let asked = self.deliveries.redeliveries_asked.get_mut(&id);
                let asked = asked.is_some_and(|it| {
                    *it = it.wrapping_sub(1);
                    *it != u32::MAX
                });
                self.count("redeliveries");
                self.audited_changes
                    .insert((Action::DeliveryRedeliver.as_str(), id.0));
                asked
                    && delivery.attempts == before.attempts
                    && matches!(now, State::Pending { failures: 0, .. })
            }
            None => {
                let hooks = step
                    .hooks
                    .get(&before.account)
                    .map_or(&[][..], Vec::as_slice);
                let hook = hooks.iter().find(|it| it.id == before.webhook);
                let has_no_receiver = !hook.is_some_and(|it| fits(before.named.as_ref(), it));
                let reason = match hook {
                    Some(_) => FailReason::WebhookMoved,
                    None => FailReason::WebhookDeleted,
                };
                let given_up = matches!(before.state, State::Pending { .. })
                    && matches!(
                        now,
                        State::Failed {
                            exhausted: false,
                            ..
                        }
                    )
                    && delivery.state.reason() == Some(reason);
                self.count(match hook {
                    Some(_) => "webhooks moved",
                    None => "webhooks gone",
                });
                has_no_receiver && given_up && delivery.attempts == before.attempts
            }
        };
        if !fits || !same {
            self.fault(format!(
                "delivery {id} went from {before:?} to {delivery:?} without cause"
            ));
        }
        match now {
            State::Delivered { .. } => self.count("delivered"),
            State::Failed {
                exhausted: true, ..
            } => self.count("given up"),
            _ => {}
        }
        if let Some(owed) = self.deliveries.owed.get_mut(&id) {
            owed.state = now;
            owed.attempts = delivery.attempts;
            owed.round = delivery.round;
            owed.set_back = set_back;
        }
        self.dues(id, step);
    }

    /// The name of a subject in the trace.
    pub fn name_of(&self, subject: Uuid) -> String {
        if let Some(job) = self.jobs.get(&JobId(subject)) {
            return format!("of job {}", job.number);
        }
        match self.batches.get(&BatchId(subject)) {
            Some(batch) => format!("of batch {}", batch.number),
            None => "of a test".into(),
        }
    }
}
