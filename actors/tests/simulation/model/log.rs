//! The audit log: one entry for each audited change, in the commit that makes it, and no other entries.

use super::Model;
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AuditId;
use uuid::Uuid;

/// Changes by their action and subject.
pub type AuditedChanges = BTreeSet<(&'static str, Uuid)>;

impl Model {
    pub(super) fn log_step(&mut self, lines: BTreeMap<AuditId, Option<AuditEntry>>) {
        let mut audited_changes = std::mem::take(&mut self.audited_changes);
        for (id, line) in lines {
            let Some(line) = line else {
                self.fault(format!("audit log entry {id} was deleted"));
                continue;
            };
            let entry = line.subject.map(|subject| (line.action.as_str(), subject));
            if !entry.is_some_and(|entry| audited_changes.remove(&entry)) || line.id != id {
                self.fault(format!("no change explains the audit log entry {line:?}"));
            }
            if !self.log.insert(id) {
                self.fault(format!("audit log entry {id} was written twice"));
            }
            self.count("lines of the log");
        }
        // The service itself cancels jobs of lost callers, without an entry.
        audited_changes.retain(|(action, _)| *action != Action::JobCancel.as_str());
        if !audited_changes.is_empty() {
            self.fault(format!(
                "the audit log has no entry for {audited_changes:?}"
            ));
        }
    }
}
