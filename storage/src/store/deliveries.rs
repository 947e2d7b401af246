//! Deliveries and their attempts.

use super::table::Scan;
use super::tables::{
    ATTEMPTS, DELIVERIES, DELIVERIES_FORGOTTEN, DELIVERY_ACCOUNTS, DUE_DELIVERIES, OPERATOR_EVENTS,
};
use super::{All, DueEntry, Page, Store, StoreError, Writes};
use crate::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind};
use crate::domain::ids::AccountId;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use std::time::Duration;

/// Bytes of keys that one step of a deletion removes; a single delivery with very many attempts may exceed it. Only small
/// commits are guaranteed to be atomic.
const MAX_STEP_BYTES: usize = 48 * 1024;

/// One step of a deletion.
#[derive(Clone, Debug, Default)]
pub struct DeletionStep {
    pub deliveries: Vec<Delivery>,
    /// One commit; empty if there is nothing to delete.
    pub writes: Writes,
    /// The start of the next step; empty at the end.
    pub cursor: Vec<u8>,
}

impl Store {
    /// A delivery of any account.
    pub async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>, StoreError> {
        match DELIVERY_ACCOUNTS.get(self, &id).await? {
            Some(account) => DELIVERIES.get(self, &(account, id)).await,
            None => Ok(None),
        }
    }

    /// Newest first.
    pub async fn deliveries_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Delivery>, StoreError> {
        DELIVERIES.page(self, &account, limit, after).await
    }

    /// Newest first.
    pub async fn deliveries(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Delivery>, StoreError> {
        let page = DELIVERY_ACCOUNTS
            .page_of_entries(self, &All, Direction::Falling, limit, after)
            .await?;
        let mut items = Vec::with_capacity(page.items.len());
        for (id, account) in page.items {
            items.extend(DELIVERIES.get(self, &(account, id)).await?);
        }
        Ok(Page {
            items,
            next: page.next,
        })
    }

    /// In order.
    pub async fn attempts(&self, delivery: DeliveryId) -> Result<Vec<Attempt>, StoreError> {
        let all = Scan(ATTEMPTS.range(&delivery), Direction::Rising, usize::MAX);
        ATTEMPTS.read(self, all).await
    }

    pub fn add_delivery(&self, delivery: &Delivery) -> Writes {
        delivery_writes(delivery)
    }

    /// Replaces a delivery's record and its due-index entry.
    pub fn change_delivery(&self, before: Option<&Delivery>, after: &Delivery) -> Writes {
        change_writes(before, after)
    }

    /// Stores an attempt together with the changed delivery.
    pub fn record_attempt(&self, before: &Delivery, after: &Delivery, attempt: &Attempt) -> Writes {
        let mut writes = self.change_delivery(Some(before), after);
        writes.push(ATTEMPTS.put(&(after.id, before.attempts), attempt));
        writes
    }

    /// Finds the deliveries created and ended before `older_than` among the next `limit` from `cursor` on, except those to
    /// `keep`.
    pub async fn find_old_deliveries(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
        keep: impl Fn(DeliveryId) -> bool,
    ) -> Result<DeletionStep, StoreError> {
        let (found, next) = DELIVERIES.step(self, cursor, limit).await?;
        let (mut step, mut bytes) = (DeletionStep::default(), 0);
        let mut newest = DELIVERIES_FORGOTTEN.mark(self).await?;
        for (key, delivery) in found {
            let ended = delivery.state.ended_at();
            let ended = ended.map(|at| at.max(delivery.created_at));
            if let Some(ended) = ended.filter(|at| *at < older_than && !keep(delivery.id)) {
                let removed = keys_of(&delivery);
                bytes += removed.iter().map(Vec::len).sum::<usize>();
                if step.deliveries.is_empty() {
                    bytes += DELIVERIES_FORGOTTEN.key(&()).len();
                } else if bytes > MAX_STEP_BYTES {
                    // The next step starts with this delivery.
                    step.writes.push(DELIVERIES_FORGOTTEN.put(&(), &newest));
                    return Ok(step);
                }
                // Derived from the deleted deliveries, not from `older_than`: a sweep under a clock far ahead would blind
                // verification for as long.
                newest = newest.max(ended.plus(Duration::from_millis(1)));
                step.deliveries.push(delivery);
                step.writes
                    .extend(removed.into_iter().map(|key| (key, None)));
            }
            step.cursor = DELIVERIES.key(&key);
        }
        step.cursor = next;
        if !step.deliveries.is_empty() {
            step.writes.push(DELIVERIES_FORGOTTEN.put(&(), &newest));
        }
        Ok(step)
    }
}

/// The keys of an ended delivery and of its attempts.
fn keys_of(delivery: &Delivery) -> Vec<Key> {
    let attempts = (0..delivery.attempts).map(|number| ATTEMPTS.key(&(delivery.id, number)));
    let event =
        (delivery.kind == DeliveryKind::Operator).then(|| OPERATOR_EVENTS.key(&delivery.id));
    [
        DELIVERIES.key(&(delivery.account, delivery.id)),
        DELIVERY_ACCOUNTS.key(&delivery.id),
    ]
    .into_iter()
    .chain(event)
    .chain(attempts)
    .collect()
}

pub(super) fn delivery_writes(delivery: &Delivery) -> Writes {
    let mut writes = change_writes(None, delivery);
    writes.push(DELIVERY_ACCOUNTS.put(&delivery.id, &delivery.account));
    writes
}

fn change_writes(before: Option<&Delivery>, after: &Delivery) -> Writes {
    let mut writes = vec![DELIVERIES.put(&(after.account, after.id), after)];
    let entry = DueEntry::of(after);
    let key = entry.map(|it| it.key());
    let old = before.and_then(DueEntry::of).map(|it| it.key());
    writes.extend(
        old.filter(|_| old != key)
            .map(|it| DUE_DELIVERIES.delete(&it)),
    );
    writes.extend(entry.map(|it| DUE_DELIVERIES.put(&it.key(), &it)));
    writes
}
