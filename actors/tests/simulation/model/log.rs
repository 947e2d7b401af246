//! The log of changes: a line for each change that somebody is to answer for, in the commit that makes it, and no other.

use super::Model;
use std::collections::{BTreeMap, BTreeSet};
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::ids::AuditId;
use uuid::Uuid;

/// Changes, by their words and what they were done to.
pub type AuditedChanges = BTreeSet<(&'static str, Uuid)>;

impl Model {
    pub(super) fn log_step(&mut self, lines: BTreeMap<AuditId, Option<AuditEntry>>) {
        let mut audited_changes = std::mem::take(&mut self.audited_changes);
        for (id, line) in lines {
            let Some(line) = line else {
                self.fault(format!("line {id} of the log was removed"));
                continue;
            };
            let entry = line.subject.map(|subject| (line.action.word(), subject));
            if !entry.is_some_and(|entry| audited_changes.remove(&entry)) || line.id != id {
                self.fault(format!("the log tells of what did not happen: {line:?}"));
            }
            if !self.log.insert(id) {
                self.fault(format!("line {id} of the log was written twice"));
            }
            self.count("lines of the log");
        }
        // A job that nobody waits for any more is canceled by the service itself, without a line.
        audited_changes.retain(|(action, _)| *action != Action::JobCancel.word());
        if !audited_changes.is_empty() {
            self.fault(format!("the log does not trace of {audited_changes:?}"));
        }
    }
}
