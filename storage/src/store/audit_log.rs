//! The audit log: append, read, and delete old entries.

use super::tables::AUDIT_LOG;
use super::{All, Page, Store, StoreError, Write, Writes};
use crate::domain::audit_log::AuditEntry;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};

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

    /// Deletes the entries older than a time among the next `limit` from `cursor` on. Returns the next cursor, empty at the end. An
    /// entry that was written while the clock was ahead does not keep the older entries behind it.
    pub async fn forget_audit_log(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        AUDIT_LOG
            .forget(self, cursor, limit, |entry| entry.at < older_than)
            .await
    }
}
