//! The due index: pending deliveries by shard and due time, so that each of several nodes reads only what it sends.

use super::table::Scan;
use super::tables::DUE_DELIVERIES;
use super::{All, DueEntry, Store, StoreError};
use crate::domain::delivery::DeliveryId;
use crate::domain::shard::Shard;
use crate::domain::time::Timestamp;
use crate::engine::Direction;
use uuid::Uuid;

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
