//! The delivery scheduler: all pending deliveries ordered by time, and a queue of due deliveries per receiver.
//!
//! Receivers are grouped by health. The receivers of a group take turns, and each group has a limit of slots: neither failing and slow
//! receivers nor untried ones can hold all slots.
//!
//! The scheduler reads no clock; callers pass the time. An entry takes about 100 bytes, so a hundred thousand pending deliveries take
//! 10 MB.

use super::receiver_health::{AttemptEnd, Group, ReceiverHealth};
use std::collections::{BTreeMap, HashMap, VecDeque};
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::DueEntry;

/// Maximum number of attempts in flight.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryLimits {
    /// To all receivers. Failing and slow receivers get at most half of these slots; together with unknown ones at most three quarters.
    pub total: usize,
    /// To one receiver that answers. A receiver that has not answered yet, or whose last attempt failed, gets one attempt at a time
    /// until it answers: otherwise many hanging receivers would hold every slot before the first of them times out.
    pub per_receiver: usize,
}

/// Maximum number of remembered receivers with nothing due, each of about 200 bytes. Beyond this the receiver with the longest idle time is
/// forgotten.
const MAX_IDLE: usize = 50_000;

#[derive(Default)]
struct Receiver {
    due: VecDeque<DueEntry>,
    in_flight: usize,
    health: ReceiverHealth,
    /// Its position in the ring of its group.
    turn: Option<u64>,
    /// Its position among the idle receivers.
    idle: Option<u64>,
}

pub struct DeliveryScheduler {
    limits: DeliveryLimits,
    scheduled: BTreeMap<(Timestamp, DeliveryId), DueEntry>,
    receivers: HashMap<WebhookId, Receiver>,
    /// By group: the receivers with due deliveries, in the order of their turns.
    rings: [BTreeMap<u64, WebhookId>; 3],
    /// Receivers with nothing due and nothing in flight, the longest idle one first.
    idle: BTreeMap<u64, WebhookId>,
    /// Attempts in flight, by the group of their receivers when they began.
    in_flight: [usize; 3],
    /// The index of the group whose turn it is.
    next: usize,
    /// The last position that was assigned.
    counter: u64,
}

impl DeliveryScheduler {
    pub fn new(limits: DeliveryLimits) -> Self {
        Self {
            limits,
            scheduled: BTreeMap::new(),
            receivers: HashMap::new(),
            rings: Default::default(),
            idle: BTreeMap::new(),
            in_flight: [0; 3],
            next: 0,
            counter: 0,
        }
    }

    /// Schedules a delivery for `at`, which is later than its own due time if an attempt was postponed.
    pub fn schedule(&mut self, at: Timestamp, entry: DueEntry) {
        self.scheduled.insert((at, entry.id), entry);
        if entry.failures > 0 {
            self.mark_failing(entry.webhook);
        }
    }

    /// Marks an unknown receiver as failing, because an attempt failed before the process started or on another node.
    fn mark_failing(&mut self, webhook: WebhookId) {
        let receiver = self.receivers.entry(webhook).or_default();
        if receiver.health == ReceiverHealth::Unknown {
            self.set_health(webhook, ReceiverHealth::Failing);
        }
    }

    pub fn next_due(&self) -> Option<Timestamp> {
        self.scheduled.first_key_value().map(|((due, _), _)| *due)
    }

    /// Reschedules deliveries that are scheduled after `horizon` to `horizon`.
    pub fn clamp_to(&mut self, horizon: Timestamp) {
        while let Some(entry) = self.scheduled.last_entry() {
            if entry.key().0 <= horizon {
                return;
            }
            let scheduled = entry.remove();
            self.schedule(horizon, scheduled);
        }
    }

    /// Schedules all deliveries `millis` earlier, because the clock was set back by that time.
    pub fn shift_earlier(&mut self, millis: i64) {
        for ((due, _), scheduled) in std::mem::take(&mut self.scheduled) {
            let due = Timestamp::from_millis(due.millis().saturating_sub(millis));
            self.schedule(due, scheduled);
        }
    }

    /// Queues the deliveries that are due by `now` for their receivers.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(entry) = self.scheduled.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let scheduled = entry.remove();
            let receiver = self.receivers.entry(scheduled.webhook).or_default();
            receiver.due.push_back(scheduled);
            self.place(scheduled.webhook);
        }
    }

    /// The next delivery to attempt, if a slot is free for it, and the health of its receiver. Groups take turns, and so do the
    /// receivers of a group.
    pub fn take(&mut self) -> Option<(DueEntry, ReceiverHealth)> {
        for _ in Group::ALL {
            let group = Group::ALL[self.next];
            self.next = (self.next + 1) % Group::ALL.len();
            if self.has_room(group)
                && let Some(taken) = self.take_of(group)
            {
                return Some(taken);
            }
        }
        None
    }

    fn has_room(&self, group: Group) -> bool {
        let [_, unknown, degraded] = self.in_flight;
        let total = self.limits.total;
        let part = |quarters: usize| (total * quarters).div_ceil(4);
        self.in_flight() < total
            && match group {
                Group::Fast => true,
                Group::Unknown => unknown + degraded < part(3),
                Group::Degraded => unknown + degraded < part(3) && degraded < part(2),
            }
    }

    fn take_of(&mut self, group: Group) -> Option<(DueEntry, ReceiverHealth)> {
        // A visited receiver leaves the ring, and `place` puts it back while it has due deliveries.
        while let Some((_, webhook)) = self.rings[group as usize].pop_first() {
            let Some(receiver) = self.receivers.get_mut(&webhook) else {
                continue;
            };
            receiver.turn = None;
            let limit = match receiver.health {
                ReceiverHealth::Unknown | ReceiverHealth::Failing => 1,
                ReceiverHealth::Fast | ReceiverHealth::Slow => self.limits.per_receiver,
            };
            // The end of one of its attempts puts it back into the ring.
            if receiver.in_flight >= limit {
                continue;
            }
            let health = receiver.health;
            let Some(scheduled) = receiver.due.pop_front() else {
                continue;
            };
            receiver.in_flight += 1;
            self.in_flight[group as usize] += 1;
            self.place(webhook);
            return Some((scheduled, health));
        }
        None
    }

    /// Ends an attempt. `at_start` is the health that [`DeliveryScheduler::take`] returned.
    pub fn ended(&mut self, webhook: WebhookId, at_start: ReceiverHealth, end: AttemptEnd) {
        let of_group = &mut self.in_flight[at_start.group() as usize];
        *of_group = of_group.saturating_sub(1);
        let Some(receiver) = self.receivers.get_mut(&webhook) else {
            return;
        };
        receiver.in_flight = receiver.in_flight.saturating_sub(1);
        let health = receiver.health.after(end);
        self.set_health(webhook, health);
        if end == AttemptEnd::Gone {
            self.remove_idle(webhook);
        }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.iter().sum()
    }

    /// The number of deliveries that wait for their due time or their turn.
    pub fn waiting(&self) -> usize {
        self.scheduled.len()
            + self
                .receivers
                .values()
                .map(|receiver| receiver.due.len())
                .sum::<usize>()
    }

    fn set_health(&mut self, webhook: WebhookId, health: ReceiverHealth) {
        if let Some(receiver) = self.receivers.get_mut(&webhook) {
            let before = std::mem::replace(&mut receiver.health, health).group();
            if before != health.group()
                && let Some(turn) = receiver.turn.take()
            {
                self.rings[before as usize].remove(&turn);
            }
        }
        self.place(webhook);
    }

    /// Puts a receiver into the ring of its group, or among the idle receivers.
    fn place(&mut self, webhook: WebhookId) {
        let Some(receiver) = self.receivers.get_mut(&webhook) else {
            return;
        };
        if let Some(idle) = receiver.idle.take() {
            self.idle.remove(&idle);
        }
        if !receiver.due.is_empty() {
            if receiver.turn.is_none() {
                self.counter += 1;
                receiver.turn = Some(self.counter);
                self.rings[receiver.health.group() as usize].insert(self.counter, webhook);
            }
        } else if receiver.in_flight == 0 {
            self.counter += 1;
            receiver.idle = Some(self.counter);
            self.idle.insert(self.counter, webhook);
            if self.idle.len() > MAX_IDLE
                && let Some((_, oldest)) = self.idle.pop_first()
            {
                self.receivers.remove(&oldest);
            }
        }
    }

    fn remove_idle(&mut self, webhook: WebhookId) {
        if let Some(idle) = self.receivers.get(&webhook).and_then(|it| it.idle) {
            self.idle.remove(&idle);
            self.receivers.remove(&webhook);
        }
    }
}

#[cfg(test)]
mod tests;
