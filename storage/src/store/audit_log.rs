//! The audit log: added to, read, and shortened at its old end.

use super::tables::AUDIT_LOG;
use super::{All, Page, Store, StoreError, Write, Writes};
use crate::domain::audit_log::AuditEntry;
use crate::domain::time::Timestamp;
use crate::engine::Direction;

impl Store {
    /// The write that adds a line. It belongs into the commit of the change that the line describes.
    pub fn add_audit(&self, entry: &AuditEntry) -> Write {
        AUDIT_LOG.put(&entry.id, entry)
    }

    /// A page of the log, newest first.
    pub async fn audit_log(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<AuditEntry>, StoreError> {
        let page = AUDIT_LOG
            .page(self, &All, Direction::Falling, limit, after)
            .await?;
        Ok(page.records())
    }

    /// The writes that remove up to `limit` lines from the old end, as far as they are older than a moment.
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
