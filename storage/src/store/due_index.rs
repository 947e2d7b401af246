//! The due index: pending deliveries by shard and due time, so that each of several nodes reads only what it sends.

use super::table::Scan;
use super::tables::DUE_DELIVERIES;
use super::{All, Store, StoreError};
use crate::domain::delivery::{Delivery, DeliveryId, DeliveryState};
use crate::domain::ids::AccountId;
use crate::domain::shard::Shard;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use crate::engine::Direction;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A pending delivery: enough to schedule it without its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueEntry {
    /// The due time of the record. An entry with another one is stale.
    pub due: Timestamp,
    pub id: DeliveryId,
    pub account: AccountId,
    pub webhook: WebhookId,
    /// Failed attempts of this round: a restart derives the receivers' health from them.
    pub failures: u32,
}

impl DueEntry {
    /// `None` if the delivery is not pending.
    pub fn of(delivery: &Delivery) -> Option<Self> {
        match delivery.state {
            DeliveryState::Pending { due, failures } => Some(Self {
                due,
                id: delivery.id,
                account: delivery.account,
                webhook: delivery.webhook,
                failures,
            }),
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => None,
        }
    }

    pub fn key(&self) -> (Shard, (Timestamp, DeliveryId)) {
        (Shard::of(self.webhook), (self.due, self.id))
    }
}

impl Store {
    /// Up to `limit` pending deliveries of a shard from an entry on that are due before `until`: the first, or with
    /// [`Direction::Falling`] the last.
    pub async fn due_of_shard(
        &self,
        shard: Shard,
        from: (Timestamp, DeliveryId),
        until: Timestamp,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<DueEntry>, StoreError> {
        let until = (shard, (until, DeliveryId(Uuid::nil())));
        let range = DUE_DELIVERIES.between(&shard, Some((shard, from)), Some(until));
        let scan = Scan(range, direction, limit);
        DUE_DELIVERIES.read(self, scan).await
    }

    pub async fn pending_of_shard(&self, shard: Shard) -> Result<usize, StoreError> {
        let range = DUE_DELIVERIES.range(&shard);
        Ok(self.engine().count(&range).await?)
    }

    /// Counts the pending deliveries, up to `most`.
    pub async fn pending_deliveries(&self, most: usize) -> Result<usize, StoreError> {
        let range = DUE_DELIVERIES.range(&All);
        let found = self.engine().scan(&range, Direction::Rising, most).await?;
        Ok(found.len())
    }
}
