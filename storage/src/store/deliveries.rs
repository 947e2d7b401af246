//! Deliveries, their attempts, and the index of what is due.

use super::{Page, Store, StoreError, Writes, decode, encode, keys};
use crate::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryState};
use crate::domain::ids::AccountId;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use crate::engine::{Direction, Key, KeyRange};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the due index says of a pending delivery, so that it can be scheduled without its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueDelivery {
    /// Whose it is.
    pub account: AccountId,
    /// Its receiver.
    pub webhook: WebhookId,
    /// Attempts of this round that have failed: a restart knows from them whose receivers may be dead.
    pub failures: u32,
}

impl DueDelivery {
    /// What the index says of this delivery, and when it is due; `None` where it is not pending.
    pub(crate) fn of(delivery: &Delivery) -> Option<(Timestamp, Self)> {
        match delivery.state {
            DeliveryState::Pending { due, failures } => Some((
                due,
                Self {
                    account: delivery.account,
                    webhook: delivery.webhook,
                    failures,
                },
            )),
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => None,
        }
    }
}

/// Bytes of keys that one step of forgetting removes, but for a single delivery with very many attempts: a commit is kept
/// whole for certain only while it is small.
const MAX_FORGOTTEN_BYTES: usize = 48 * 1024;

/// The setting that holds up to which moment deliveries have been forgotten: whoever audits the store can tell by it one
/// that was forgotten from one that was lost.
pub(super) const FORGOTTEN: &str = "deliveries forgotten before";

/// Deliveries to be removed.
#[derive(Clone, Debug, Default)]
pub struct Forgotten {
    /// Which.
    pub ids: Vec<DeliveryId>,
    /// The writes of one commit; empty when there is nothing to remove.
    pub writes: Writes,
    /// Where the next step begins: empty once the end is reached.
    pub cursor: Vec<u8>,
}

impl Store {
    /// A delivery, whoever's it is.
    pub fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        match self.account_of_delivery(id)? {
            Some(account) => self.delivery_of(account, id),
            None => Ok(None),
        }
    }

    /// Whose delivery this is.
    pub(crate) fn account_of_delivery(
        &self,
        id: DeliveryId,
    ) -> Result<Option<AccountId>, StoreError> {
        self.read(&keys::delivery_account(id))
    }

    /// A delivery of an account.
    pub(crate) fn delivery_of(
        &self,
        account: AccountId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        self.read(&keys::delivery(account, id))
    }

    /// A page of an account's deliveries, newest first.
    pub fn deliveries_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Delivery>, StoreError> {
        self.page(
            keys::deliveries_of(account),
            Direction::Falling,
            limit,
            after,
        )
    }

    /// A page of all deliveries, newest first.
    pub fn deliveries(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Delivery>, StoreError> {
        let mut range = KeyRange::prefix(&keys::delivery_accounts());
        if let Some(id) = after {
            range = range.below(keys::delivery_account(DeliveryId(uuid::Uuid::from_bytes(
                id,
            ))));
        }
        let pairs = self.engine().scan(&range, Direction::Falling, limit + 1)?;
        let more = pairs.len() > limit;
        let mut items = Vec::with_capacity(limit);
        let mut last = None;
        for (key, value) in pairs.iter().take(limit) {
            let Some(id) = keys::last_id(key) else {
                continue;
            };
            last = Some(id);
            let id = DeliveryId(uuid::Uuid::from_bytes(id));
            items.extend(self.read::<Delivery>(&keys::delivery(decode(value)?, id))?);
        }
        Ok(Page {
            items,
            next: last.filter(|_| more),
        })
    }

    /// Visits every delivery.
    pub fn each_delivery(
        &self,
        mut visit: impl FnMut(Delivery) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::deliveries(), |_, delivery| visit(delivery))
    }

    /// Visits every delivery's id with the account that it is said to be of.
    pub(crate) fn each_delivery_account(
        &self,
        mut visit: impl FnMut(DeliveryId, AccountId) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::delivery_accounts(), |key, account| {
            let id = keys::last_id(&key).ok_or_else(|| malformed("delivery"))?;
            visit(DeliveryId(uuid::Uuid::from_bytes(id)), account)
        })
    }

    /// Visits the whole due index.
    pub(crate) fn each_due(
        &self,
        mut visit: impl FnMut(Timestamp, DeliveryId, DueDelivery) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::due_deliveries(), |key, entry| {
            let (due, id) = keys::read_due(&key).ok_or_else(|| malformed("due index"))?;
            visit(due, id, entry)
        })
    }

    /// What the due index says of a delivery at a moment.
    pub(crate) fn due_entry(
        &self,
        due: Timestamp,
        id: DeliveryId,
    ) -> Result<Option<DueDelivery>, StoreError> {
        self.read(&keys::delivery_due(due, id))
    }

    /// Visits every attempt's delivery and number.
    pub(crate) fn each_attempt(
        &self,
        mut visit: impl FnMut(DeliveryId, u32) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::all_attempts(), |key, _: Attempt| {
            let (id, number) = keys::read_attempt(&key).ok_or_else(|| malformed("attempt"))?;
            visit(id, number)
        })
    }

    /// Up to `limit` pending deliveries in the order in which they are due, after the one given.
    pub fn due(
        &self,
        after: Option<(Timestamp, DeliveryId)>,
        limit: usize,
    ) -> Result<Vec<(Timestamp, DeliveryId, DueDelivery)>, StoreError> {
        let mut range = KeyRange::prefix(&keys::due_deliveries());
        if let Some((due, id)) = after {
            range = range.above(keys::delivery_due(due, id));
        }
        let pairs = self.engine().scan(&range, Direction::Rising, limit)?;
        let read = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let (due, id) = keys::read_due(key).ok_or_else(|| malformed("due index"))?;
            Ok((due, id, decode(value)?))
        };
        pairs.iter().map(read).collect()
    }

    /// All attempts of a delivery, in their order.
    pub fn attempts(&self, delivery: DeliveryId) -> Result<Vec<Attempt>, StoreError> {
        let mut attempts = Vec::new();
        self.each(keys::attempts(delivery), |_, attempt| {
            attempts.push(attempt);
            Ok(())
        })?;
        Ok(attempts)
    }

    /// The writes that add a delivery.
    pub fn add_delivery(&self, delivery: &Delivery) -> Writes {
        let mut writes = self.change_delivery(None, delivery);
        writes.push((
            keys::delivery_account(delivery.id),
            Some(encode(&delivery.account)),
        ));
        writes
    }

    /// The writes that turn one state of a delivery into another, its place in the due index included.
    pub fn change_delivery(&self, before: Option<&Delivery>, after: &Delivery) -> Writes {
        let mut writes = vec![(keys::delivery(after.account, after.id), Some(encode(after)))];
        let old = before.and_then(|it| it.state.due());
        if let Some(due) = old.filter(|due| Some(*due) != after.state.due()) {
            writes.push((keys::delivery_due(due, after.id), None));
        }
        if let Some((due, entry)) = DueDelivery::of(after) {
            writes.push((keys::delivery_due(due, after.id), Some(encode(&entry))));
        }
        writes
    }

    /// The writes that record an attempt together with what it makes of the delivery.
    pub fn record_attempt(&self, before: &Delivery, after: &Delivery, attempt: &Attempt) -> Writes {
        let mut writes = self.change_delivery(Some(before), after);
        writes.push((
            keys::attempt(after.id, before.attempts),
            Some(encode(attempt)),
        ));
        writes
    }

    /// Deliveries of jobs that ended before this moment may have been forgotten; no other ones have been.
    pub(crate) fn deliveries_forgotten(&self) -> Result<Timestamp, StoreError> {
        let mark = self.read(&keys::setting(FORGOTTEN))?;
        Ok(mark.unwrap_or(Timestamp::from_millis(0)))
    }

    /// Finds deliveries that were made and ended before `older_than` among the next `limit` from `cursor` on, but those to `keep`.
    pub fn forget_deliveries(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
        keep: impl Fn(DeliveryId) -> bool,
    ) -> Result<Forgotten, StoreError> {
        let range = KeyRange::prefix(&keys::deliveries());
        let range = if cursor.is_empty() {
            range
        } else {
            range.above(cursor.to_vec())
        };
        let pairs = self.engine().scan(&range, Direction::Rising, limit)?;
        let mut forgotten = Forgotten::default();
        let (mut bytes, at_end) = (0, pairs.len() < limit);
        let (mark, mut newest) = (keys::setting(FORGOTTEN), self.deliveries_forgotten()?);
        for (key, value) in pairs {
            let delivery: Delivery = decode(&value)?;
            let over = delivery.state.ended_at();
            let over = over.map(|at| at.max(delivery.created_at));
            if let Some(over) = over.filter(|at| *at < older_than && !keep(delivery.id)) {
                let removed = keys_of(&delivery);
                bytes += removed.iter().map(Vec::len).sum::<usize>();
                if forgotten.ids.is_empty() {
                    bytes += mark.len();
                } else if bytes > MAX_FORGOTTEN_BYTES {
                    // The next step begins with this one.
                    forgotten.writes.push((mark, Some(encode(&newest))));
                    return Ok(forgotten);
                }
                // By what is really removed, and not by what might have been: a sweep under a clock that is far ahead would
                // keep whoever audits from missing anything for as long.
                newest = newest.max(over.plus(Duration::from_millis(1)));
                forgotten.ids.push(delivery.id);
                forgotten
                    .writes
                    .extend(removed.into_iter().map(|key| (key, None)));
            }
            forgotten.cursor = key;
        }
        if at_end {
            forgotten.cursor.clear();
        }
        if !forgotten.ids.is_empty() {
            forgotten.writes.push((mark, Some(encode(&newest))));
        }
        Ok(forgotten)
    }
}

fn malformed(kind: &'static str) -> StoreError {
    StoreError::Damaged {
        kind,
        reason: "its key is malformed".into(),
    }
}

/// Under which a delivery that has ended lies, and its attempts.
fn keys_of(delivery: &Delivery) -> Vec<Key> {
    let attempts = (0..delivery.attempts).map(|number| keys::attempt(delivery.id, number));
    [
        keys::delivery(delivery.account, delivery.id),
        keys::delivery_account(delivery.id),
    ]
    .into_iter()
    .chain(attempts)
    .collect()
}
