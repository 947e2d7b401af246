//! The audit log: append, read, and delete the oldest entries.

use super::tables::AUDIT_LOG;
use super::{All, Page, Store, StoreError, Write, Writes};
use crate::domain::audit_log::AuditEntry;
use crate::domain::time::Timestamp;
use crate::engine::Direction;

impl Store {
    /// Commit this write together with the change that the entry describes.
    pub fn add_audit(&self, entry: &AuditEntry) -> Write {
        AUDIT_LOG.put(&entry.id, entry)
    }

    /// Newest first.
    pub async fn audit_log(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<AuditEntry>, StoreError> {
        AUDIT_LOG
            .page(self, &All, Direction::Falling, limit, after)
            .await
    }

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
