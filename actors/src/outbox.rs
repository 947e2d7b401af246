//! Which delivery is attempted next: a schedule in the order of time, and per receiver a line of what is due.
//!
//! Pure: moments come in as arguments. One entry takes about 100 bytes, so a hundred thousand pending deliveries take 10 MB.

use std::collections::{BTreeMap, HashMap, VecDeque};
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;

/// How many attempts may be under way.
#[derive(Clone, Copy, Debug)]
pub struct OutboxLimits {
    /// In all.
    pub total: usize,
    /// To one receiver that answers. One that has not answered yet, or whose last attempt failed, gets a single one until it
    /// does: many that hang would else hold every place before the first of them is known to.
    pub per_receiver: usize,
}

/// A pending delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The delivery.
    pub id: DeliveryId,
    /// Whose.
    pub account: AccountId,
    /// Its receiver.
    pub webhook: WebhookId,
}

/// What the last attempt says of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    /// None has ended yet.
    #[default]
    Untried,
    /// It succeeded.
    Answering,
    /// It failed: the receiver may be dead, and must not take the places of those that live.
    Ailing,
}

#[derive(Default)]
struct Receiver {
    due: VecDeque<Parcel>,
    under_way: usize,
    standing: Standing,
    /// Stands in the ring of turns.
    listed: bool,
}

/// All pending deliveries of the process.
pub struct Outbox {
    limits: OutboxLimits,
    scheduled: BTreeMap<(Timestamp, DeliveryId), Parcel>,
    receivers: HashMap<WebhookId, Receiver>,
    turns: VecDeque<WebhookId>,
    under_way: usize,
    ailing_under_way: usize,
}

impl Outbox {
    /// An empty one.
    pub fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            scheduled: BTreeMap::new(),
            receivers: HashMap::new(),
            turns: VecDeque::new(),
            under_way: 0,
            ailing_under_way: 0,
        }
    }

    /// Schedules a delivery for `due`.
    pub fn schedule(&mut self, due: Timestamp, parcel: Parcel) {
        self.scheduled.insert((due, parcel.id), parcel);
    }

    /// When the next scheduled delivery is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.scheduled.first_key_value().map(|((due, _), _)| *due)
    }

    /// Brings what is scheduled beyond `horizon` forward to it.
    pub fn pull_in(&mut self, horizon: Timestamp) {
        while let Some(entry) = self.scheduled.last_entry() {
            if entry.key().0 <= horizon {
                return;
            }
            let parcel = entry.remove();
            self.schedule(horizon, parcel);
        }
    }

    /// Lines up what has become due by `now`.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(entry) = self.scheduled.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let parcel = entry.remove();
            self.receivers
                .entry(parcel.webhook)
                .or_default()
                .due
                .push_back(parcel);
            self.list(parcel.webhook);
        }
    }

    /// The next delivery to attempt, if there is room for one. Receivers take turns.
    pub fn take(&mut self) -> Option<Parcel> {
        if self.under_way >= self.limits.total {
            return None;
        }
        // Half of all places are kept from receivers that do not answer.
        let ailing_full = self.ailing_under_way >= self.limits.total.div_ceil(2);
        for _ in 0..self.turns.len() {
            let webhook = self.turns.pop_front()?;
            let Some(receiver) = self.receivers.get_mut(&webhook) else {
                continue;
            };
            let room = match receiver.standing {
                Standing::Untried | Standing::Ailing => 1,
                Standing::Answering => self.limits.per_receiver,
            };
            let ailing = receiver.standing == Standing::Ailing;
            if receiver.under_way >= room {
                // It is listed again when one of its attempts ends.
                receiver.listed = false;
                continue;
            }
            if ailing && ailing_full {
                self.turns.push_back(webhook);
                continue;
            }
            let Some(parcel) = receiver.due.pop_front() else {
                receiver.listed = false;
                continue;
            };
            receiver.under_way += 1;
            self.under_way += 1;
            self.ailing_under_way += usize::from(ailing);
            if receiver.due.is_empty() {
                receiver.listed = false;
            } else {
                self.turns.push_back(webhook);
            }
            return Some(parcel);
        }
        None
    }

    /// An attempt has ended, `succeeded` or not; `None` when nothing was sent, so that nothing is known of the receiver.
    /// `ailing_at_start` is what [`Outbox::is_ailing`] said when it was begun.
    pub fn ended(&mut self, webhook: WebhookId, ailing_at_start: bool, succeeded: Option<bool>) {
        self.under_way = self.under_way.saturating_sub(1);
        self.ailing_under_way = self
            .ailing_under_way
            .saturating_sub(usize::from(ailing_at_start));
        let Some(receiver) = self.receivers.get_mut(&webhook) else {
            return;
        };
        receiver.under_way = receiver.under_way.saturating_sub(1);
        match succeeded {
            Some(true) => receiver.standing = Standing::Answering,
            Some(false) => receiver.standing = Standing::Ailing,
            None => {}
        }
        let quiet = receiver.due.is_empty() && receiver.under_way == 0;
        if quiet && receiver.standing != Standing::Ailing {
            self.receivers.remove(&webhook);
        } else {
            self.list(webhook);
        }
    }

    /// Did the last attempt to this receiver fail?
    pub fn is_ailing(&self, webhook: WebhookId) -> bool {
        self.receivers
            .get(&webhook)
            .is_some_and(|receiver| receiver.standing == Standing::Ailing)
    }

    /// Attempts under way.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Deliveries that wait for their moment or their turn.
    pub fn waiting(&self) -> usize {
        self.scheduled.len()
            + self
                .receivers
                .values()
                .map(|receiver| receiver.due.len())
                .sum::<usize>()
    }

    fn list(&mut self, webhook: WebhookId) {
        if let Some(receiver) = self.receivers.get_mut(&webhook)
            && !receiver.listed
            && !receiver.due.is_empty()
        {
            receiver.listed = true;
            self.turns.push_back(webhook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const LIMITS: OutboxLimits = OutboxLimits {
        total: 8,
        per_receiver: 3,
    };

    fn parcel(webhook: u128, number: u128) -> Parcel {
        Parcel {
            id: DeliveryId(Uuid::from_u128(webhook * 1_000_000 + number)),
            account: AccountId(Uuid::nil()),
            webhook: WebhookId(Uuid::from_u128(webhook)),
        }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn outbox(parcels: &[(i64, Parcel)]) -> Outbox {
        let mut outbox = Outbox::new(LIMITS);
        parcels
            .iter()
            .for_each(|(due, parcel)| outbox.schedule(at(*due), *parcel));
        outbox
    }

    fn taken(outbox: &mut Outbox) -> Vec<Parcel> {
        std::iter::from_fn(|| outbox.take()).collect()
    }

    #[test]
    fn nothing_is_attempted_before_it_is_due() {
        let mut outbox = outbox(&[(20, parcel(1, 1)), (10, parcel(1, 2))]);
        assert_eq!(outbox.next_due(), Some(at(10)));
        outbox.advance(at(9));
        assert_eq!(outbox.take(), None);
        outbox.advance(at(10));
        assert_eq!((outbox.take(), outbox.take()), (Some(parcel(1, 2)), None));
        assert_eq!(outbox.next_due(), Some(at(20)));
        assert_eq!((outbox.under_way(), outbox.waiting()), (1, 1));
    }

    #[test]
    fn hostile_100_a_receiver_with_many_due_ones_leaves_room_for_others() {
        let mut outbox = Outbox::new(LIMITS);
        (0..10_000).for_each(|number| outbox.schedule(at(0), parcel(1, number)));
        outbox.schedule(at(1), parcel(2, 0));
        outbox.advance(at(1));
        assert_eq!(taken(&mut outbox), [parcel(1, 0), parcel(2, 0)]);
        outbox.ended(parcel(1, 0).webhook, false, Some(true));
        assert_eq!(
            taken(&mut outbox),
            [1, 2, 3].map(|number| parcel(1, number))
        );
        outbox.ended(parcel(1, 0).webhook, false, Some(true));
        assert_eq!(outbox.take(), Some(parcel(1, 4)));
    }

    #[test]
    fn receivers_that_have_not_answered_yet_get_one_place_each() {
        let mut outbox = Outbox::new(LIMITS);
        for webhook in 1..=5 {
            (0..10).for_each(|number| outbox.schedule(at(0), parcel(webhook, number)));
        }
        outbox.schedule(at(1), parcel(6, 0));
        outbox.advance(at(1));
        let begun = taken(&mut outbox);
        assert_eq!(begun.len(), 6, "{begun:?}");
        assert!(begun.contains(&parcel(6, 0)));
        // One that had nothing to send is as unknown as before.
        outbox.ended(parcel(1, 0).webhook, false, None);
        assert_eq!(taken(&mut outbox), [parcel(1, 1)]);
    }

    #[test]
    fn a_receiver_that_fails_gets_one_place_until_it_succeeds() {
        let mut outbox = Outbox::new(LIMITS);
        (0..10).for_each(|number| outbox.schedule(at(0), parcel(1, number)));
        outbox.advance(at(0));
        let webhook = parcel(1, 0).webhook;
        assert_eq!(taken(&mut outbox).len(), 1);
        outbox.ended(webhook, false, Some(true));
        assert_eq!(taken(&mut outbox).len(), 3);
        (0..3).for_each(|_| outbox.ended(webhook, false, Some(false)));
        assert!(outbox.is_ailing(webhook));
        assert_eq!(taken(&mut outbox).len(), 1);
        outbox.ended(webhook, true, Some(true));
        assert_eq!(taken(&mut outbox).len(), 3);
    }

    #[test]
    fn failing_receivers_take_half_of_all_places_at_most() {
        let mut outbox = Outbox::new(LIMITS);
        for webhook in 1..=20 {
            outbox.schedule(at(0), parcel(webhook, 0));
            outbox.schedule(at(1), parcel(webhook, 1));
        }
        outbox.advance(at(0));
        while let Some(parcel) = outbox.take() {
            outbox.ended(parcel.webhook, false, Some(false));
        }
        outbox.schedule(at(1), parcel(99, 0));
        outbox.advance(at(1));
        let taken = taken(&mut outbox);
        assert_eq!(
            taken
                .iter()
                .filter(|it| it.webhook != parcel(99, 0).webhook)
                .count(),
            4
        );
        assert!(taken.contains(&parcel(99, 0)));
    }

    #[test]
    fn what_lies_too_far_ahead_is_brought_forward() {
        let mut outbox = outbox(&[(5, parcel(1, 1)), (900, parcel(1, 2)), (901, parcel(1, 3))]);
        outbox.pull_in(at(10));
        assert_eq!((outbox.waiting(), outbox.next_due()), (3, Some(at(5))));
        outbox.advance(at(10));
        assert_eq!(outbox.next_due(), None);
    }

    #[test]
    fn a_quiet_receiver_leaves_nothing_behind() {
        let mut outbox = outbox(&[(0, parcel(1, 1))]);
        outbox.advance(at(0));
        outbox.take();
        outbox.ended(parcel(1, 1).webhook, false, Some(true));
        assert!(outbox.receivers.is_empty() && outbox.turns.is_empty());
    }
}
