//! Deletes old entries of the audit log.

use super::tables::AUDIT_LOG;
use super::{Store, StoreError, Writes};
use crate::domain::time::Timestamp;
use crate::engine::Key;

impl Store {
    /// Deletes the entries older than a time among the next `limit` from `cursor` on. Returns the next cursor, empty at the end. An
    /// entry that was written while the clock was ahead does not keep the older entries behind it.
    pub async fn delete_old_audit_entries(
        &self,
        older_than: Timestamp,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Writes, Key), StoreError> {
        AUDIT_LOG
            .delete_where(self, cursor, limit, |entry| entry.at < older_than)
            .await
    }
}
