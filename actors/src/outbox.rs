//! Which delivery is attempted next: a schedule in the order of time, and per receiver a line of what is due.
//!
//! Receivers are of three kinds by what is known of them, and each kind has a ring of its own in which they take turns, and a
//! bound of places: those that are dead or slow can never hold all places, nor can those that nobody has heard of yet.
//!
//! Pure: moments come in as arguments. One entry takes about 100 bytes, so a hundred thousand pending deliveries take 10 MB.

mod standing;

pub use standing::{BRISK, Ending, Standing};

use standing::Kind;
use std::collections::{BTreeMap, HashMap, VecDeque};
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;

/// How many attempts may be under way.
#[derive(Clone, Copy, Debug)]
pub struct OutboxLimits {
    /// In all. Half of it is the most for receivers that are dead or slow, three quarters for these and unknown ones together.
    pub total: usize,
    /// To one receiver that answers. One that has not answered yet, or whose last attempt failed, gets a single one until it
    /// does: many that hang would else hold every place before the first of them is known to.
    pub per_receiver: usize,
}

/// Receivers with nothing due that are remembered, each in about 200 bytes; past these the one that has been quiet for the
/// longest is forgotten, and unknown when it is next called.
const MAX_QUIET: usize = 50_000;

/// A pending delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The delivery.
    pub id: DeliveryId,
    /// Whose.
    pub account: AccountId,
    /// Its receiver.
    pub webhook: WebhookId,
    /// When it is due by its record. Where the record says otherwise by the time of its turn, this one has been overtaken.
    pub due: Timestamp,
}

#[derive(Default)]
struct Receiver {
    due: VecDeque<Parcel>,
    under_way: usize,
    standing: Standing,
    /// Its place in the ring of its kind.
    turn: Option<u64>,
    /// Its place among the quiet ones.
    quiet: Option<u64>,
}

/// All pending deliveries of the process.
pub struct Outbox {
    limits: OutboxLimits,
    scheduled: BTreeMap<(Timestamp, DeliveryId), Parcel>,
    receivers: HashMap<WebhookId, Receiver>,
    /// Receivers with something due, in the order of their turns, by kind.
    rings: [BTreeMap<u64, WebhookId>; 3],
    /// Receivers with nothing to be done for, the longest quiet one first.
    quiet: BTreeMap<u64, WebhookId>,
    /// Attempts under way, by the kind of their receivers when they began.
    under_way: [usize; 3],
    /// The kind whose turn it is.
    next: usize,
    /// Numbers of places that were given out.
    counter: u64,
}

impl Outbox {
    /// An empty one.
    pub fn new(limits: OutboxLimits) -> Self {
        Self {
            limits,
            scheduled: BTreeMap::new(),
            receivers: HashMap::new(),
            rings: Default::default(),
            quiet: BTreeMap::new(),
            under_way: [0; 3],
            next: 0,
            counter: 0,
        }
    }

    /// Schedules a delivery for `due`.
    pub fn schedule(&mut self, due: Timestamp, parcel: Parcel) {
        self.scheduled.insert((due, parcel.id), parcel);
    }

    /// Says that an attempt to this receiver has failed before the process began, and none is known to have succeeded since.
    pub fn suspect(&mut self, webhook: WebhookId) {
        self.receivers.entry(webhook).or_default();
        self.stand(webhook, Standing::Ailing);
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

    /// Brings all that is scheduled forward by `millis`: the clock has been set back by as much.
    pub fn set_back(&mut self, millis: i64) {
        for ((due, _), parcel) in std::mem::take(&mut self.scheduled) {
            let due = Timestamp::from_millis(due.millis().saturating_sub(millis));
            self.schedule(due, parcel);
        }
    }

    /// Lines up what has become due by `now`.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some(entry) = self.scheduled.first_entry() {
            if entry.key().0 > now {
                return;
            }
            let parcel = entry.remove();
            let receiver = self.receivers.entry(parcel.webhook).or_default();
            receiver.due.push_back(parcel);
            self.place(parcel.webhook);
        }
    }

    /// The next delivery to attempt, if there is room for one, and how its receiver stands. Kinds take turns, and within
    /// them receivers do.
    pub fn take(&mut self) -> Option<(Parcel, Standing)> {
        for _ in Kind::ALL {
            let kind = Kind::ALL[self.next];
            self.next = (self.next + 1) % Kind::ALL.len();
            if self.has_room(kind)
                && let Some(taken) = self.take_of(kind)
            {
                return Some(taken);
            }
        }
        None
    }

    fn has_room(&self, kind: Kind) -> bool {
        let [_, unknown, doubtful] = self.under_way;
        let total = self.limits.total;
        let part = |quarters: usize| (total * quarters).div_ceil(4);
        self.under_way() < total
            && match kind {
                Kind::Brisk => true,
                Kind::Unknown => unknown + doubtful < part(3),
                Kind::Doubtful => unknown + doubtful < part(3) && doubtful < part(2),
            }
    }

    fn take_of(&mut self, kind: Kind) -> Option<(Parcel, Standing)> {
        // Each turn but the one that is taken ends with the receiver outside of the ring.
        while let Some((_, webhook)) = self.rings[kind as usize].pop_first() {
            let Some(receiver) = self.receivers.get_mut(&webhook) else {
                continue;
            };
            receiver.turn = None;
            let room = match receiver.standing {
                Standing::Untried | Standing::Ailing => 1,
                Standing::Brisk | Standing::Slow => self.limits.per_receiver,
            };
            // It comes back when one of its attempts ends.
            if receiver.under_way >= room {
                continue;
            }
            let standing = receiver.standing;
            let Some(parcel) = receiver.due.pop_front() else {
                continue;
            };
            receiver.under_way += 1;
            self.under_way[kind as usize] += 1;
            self.place(webhook);
            return Some((parcel, standing));
        }
        None
    }

    /// An attempt has ended. `at_start` is how its receiver stood when it was taken.
    pub fn ended(&mut self, webhook: WebhookId, at_start: Standing, ending: Ending) {
        let of_kind = &mut self.under_way[at_start.kind() as usize];
        *of_kind = of_kind.saturating_sub(1);
        let Some(receiver) = self.receivers.get_mut(&webhook) else {
            return;
        };
        receiver.under_way = receiver.under_way.saturating_sub(1);
        let standing = receiver.standing.after(ending);
        self.stand(webhook, standing);
        if ending == Ending::Gone {
            self.forget_quiet(webhook);
        }
    }

    /// Attempts under way.
    pub fn under_way(&self) -> usize {
        self.under_way.iter().sum()
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

    fn stand(&mut self, webhook: WebhookId, standing: Standing) {
        if let Some(receiver) = self.receivers.get_mut(&webhook) {
            let before = std::mem::replace(&mut receiver.standing, standing).kind();
            if before != standing.kind()
                && let Some(turn) = receiver.turn.take()
            {
                self.rings[before as usize].remove(&turn);
            }
        }
        self.place(webhook);
    }

    /// Puts a receiver where it belongs: into the ring of its kind, or among the quiet ones.
    fn place(&mut self, webhook: WebhookId) {
        let Some(receiver) = self.receivers.get_mut(&webhook) else {
            return;
        };
        if let Some(quiet) = receiver.quiet.take() {
            self.quiet.remove(&quiet);
        }
        if !receiver.due.is_empty() {
            if receiver.turn.is_none() {
                self.counter += 1;
                receiver.turn = Some(self.counter);
                self.rings[receiver.standing.kind() as usize].insert(self.counter, webhook);
            }
        } else if receiver.under_way == 0 {
            self.counter += 1;
            receiver.quiet = Some(self.counter);
            self.quiet.insert(self.counter, webhook);
            if self.quiet.len() > MAX_QUIET
                && let Some((_, oldest)) = self.quiet.pop_first()
            {
                self.receivers.remove(&oldest);
            }
        }
    }

    fn forget_quiet(&mut self, webhook: WebhookId) {
        if let Some(quiet) = self.receivers.get(&webhook).and_then(|it| it.quiet) {
            self.quiet.remove(&quiet);
            self.receivers.remove(&webhook);
        }
    }
}

#[cfg(test)]
mod tests;
