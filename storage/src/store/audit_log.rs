//! Deletes old entries of the audit log.

use super::tables::AUDIT_LOG;
use super::{All, Store, StoreError, Writes};
use crate::domain::time::Timestamp;
use crate::engine::Direction;

impl Store {
    /// Deletes up to `limit` of the oldest entries that are older than a time.
    pub async fn forget_audit_log(
        &self,
        older_than: Timestamp,
        limit: usize,
    ) -> Result<Writes, StoreError> {
        let all = AUDIT_LOG.range(&All);
        let oldest = AUDIT_LOG.scan(self, &all, Direction::Rising, limit).await?;
        let old = oldest.iter().take_while(|(_, entry)| entry.at < older_than);
        Ok(old.map(|(id, _)| AUDIT_LOG.delete(id)).collect())
    }
}
