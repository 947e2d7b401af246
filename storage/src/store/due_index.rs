//! The due index: pending deliveries by due time. If several nodes share the store, there is one index per shard, so that each
//! node reads only what it sends.

use super::tables::{DUE_BY_SHARD, DUE_DELIVERIES};
use super::{All, DueDelivery, Store, StoreError, Writes};
use crate::domain::delivery::{Delivery, DeliveryId};
use crate::domain::shard::Shard;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

/// Due deliveries with their due times.
pub type DueList = Vec<(Timestamp, DeliveryId, DueDelivery)>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DueIndex {
    /// [`DUE_DELIVERIES`]: a single process uses the store.
    #[default]
    Whole,
    /// [`DUE_BY_SHARD`]: several nodes share the store.
    ByShard,
}

impl DueIndex {
    fn key(self, due: Timestamp, delivery: &Delivery) -> Key {
        let entry = (due, delivery.id);
        match self {
            Self::Whole => DUE_DELIVERIES.key(&entry),
            Self::ByShard => DUE_BY_SHARD.key(&(Shard::of(delivery.webhook), entry)),
        }
    }

    /// Replaces the entry of a delivery's earlier state.
    pub(super) fn change_entry(self, before: Option<&Delivery>, after: &Delivery) -> Writes {
        let mut writes = Writes::new();
        let old = before.and_then(|it| it.state.due());
        if let Some(due) = old.filter(|due| Some(*due) != after.state.due()) {
            writes.push((self.key(due, after), None));
        }
        if let Some((due, entry)) = DueDelivery::of(after) {
            let entry = match self {
                Self::Whole => DUE_DELIVERIES.encode(&entry),
                Self::ByShard => DUE_BY_SHARD.encode(&entry),
            };
            writes.push((self.key(due, after), Some(entry)));
        }
        writes
    }
}

impl Store {
    /// Up to `limit` pending deliveries after `after`, by due time.
    pub async fn due(
        &self,
        after: Option<(Timestamp, DeliveryId)>,
        limit: usize,
    ) -> Result<DueList, StoreError> {
        let mut range = DUE_DELIVERIES.range(&All);
        if let Some(after) = after {
            range = range.above(DUE_DELIVERIES.key(&after));
        }
        let found = DUE_DELIVERIES
            .scan(self, &range, Direction::Rising, limit)
            .await?;
        let flat = found.into_iter().map(|((due, id), entry)| (due, id, entry));
        Ok(flat.collect())
    }

    /// Up to `limit` pending deliveries of a shard from an entry on that are due before `until`: the first, or with
    /// [`Direction::Falling`] the last.
    pub async fn due_of_shard(
        &self,
        shard: Shard,
        from: (Timestamp, DeliveryId),
        until: Timestamp,
        direction: Direction,
        limit: usize,
    ) -> Result<DueList, StoreError> {
        let until = (shard, (until, DeliveryId(uuid::Uuid::nil())));
        let range = DUE_BY_SHARD.between(&shard, Some((shard, from)), Some(until));
        let found = DUE_BY_SHARD.scan(self, &range, direction, limit).await?;
        let flat = found
            .into_iter()
            .map(|((_, (due, id)), entry)| (due, id, entry));
        Ok(flat.collect())
    }

    pub async fn pending_of_shard(&self, shard: Shard) -> Result<usize, StoreError> {
        let range = DUE_BY_SHARD.range(&shard);
        Ok(self.engine().count(&range).await?)
    }

    /// Counts the pending deliveries, up to `most`.
    pub async fn pending_deliveries(&self, most: usize) -> Result<usize, StoreError> {
        let range = match self.due_index() {
            DueIndex::Whole => DUE_DELIVERIES.range(&All),
            DueIndex::ByShard => DUE_BY_SHARD.range(&All),
        };
        let found = self.engine().scan(&range, Direction::Rising, most).await?;
        Ok(found.len())
    }
}
