//! The audit log: added to, read, and shortened at its old end.

use super::{Page, Store, StoreError, Writes, decode, encode, keys};
use crate::domain::audit_log::AuditEntry;
use crate::domain::ids::AuditId;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key, KeyRange, Value};
use uuid::Uuid;

impl Store {
    /// The write that adds a line. It belongs into the commit of the change that it tells of.
    pub fn add_audit(&self, entry: &AuditEntry) -> (Key, Option<Value>) {
        (keys::audit_entry(entry.id), Some(encode(entry)))
    }

    /// A page of the log, newest first.
    pub fn audit_log(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<AuditEntry>, StoreError> {
        self.page(keys::audit_log(), Direction::Falling, limit, after)
    }

    /// Visits the log, oldest first: the id that each line is found by, and the line.
    pub(crate) fn each_audit_entry(
        &self,
        mut visit: impl FnMut(AuditId, AuditEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::audit_log(), |key, entry: AuditEntry| {
            let id = keys::last_id(&key).map(|id| AuditId(Uuid::from_bytes(id)));
            visit(id.unwrap_or(entry.id), entry)
        })
    }

    /// The writes that remove up to `limit` lines from the old end, as far as they are older than a moment.
    pub fn forget_audit_log(
        &self,
        older_than: Timestamp,
        limit: usize,
    ) -> Result<Writes, StoreError> {
        let all = KeyRange::prefix(&keys::audit_log());
        let mut writes = Vec::new();
        for (key, value) in self.engine().scan(&all, Direction::Rising, limit)? {
            if decode::<AuditEntry>(&value)?.at >= older_than {
                break;
            }
            writes.push((key, None));
        }
        Ok(writes)
    }
}
