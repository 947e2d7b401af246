//! Who requests a change, and the audit log entry about it.

use super::call_origin::CallOrigin;
use crate::application::core::Core;
use ipnet::IpNet;
use serde_json::Value;
use std::net::IpAddr;
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry, ToAuditEntry};
use tintype_storage::domain::ids::{AccountId, AuditId};
use tintype_storage::store::Write;
use tintype_storage::store::tables::AUDIT_LOG;
use uuid::Uuid;

/// Characters of one text that an entry keeps. A record with two of the longest URLs must fit the store.
const MAX_TEXT_CHARS: usize = 500;

/// The actor of a change, the client's address and the request id.
#[derive(Clone, Debug)]
pub struct AuditContext {
    actor: Actor,
    request: Option<String>,
    address: Option<String>,
}

/// By default all accounts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject {
    /// `None` for a change that concerns all accounts.
    pub account: Option<AccountId>,
    /// The changed record.
    pub id: Option<Uuid>,
}

impl Subject {
    /// A record of an account.
    pub fn of(account: AccountId, id: Uuid) -> Self {
        Self {
            id: Some(id),
            ..Self::of_account(account)
        }
    }

    /// A new record of an account, whose decision gives it an id.
    pub fn of_account(account: AccountId) -> Self {
        Self {
            account: Some(account),
            id: None,
        }
    }

    /// A record of no account, or of one that the decision finds.
    pub fn of_service(id: Uuid) -> Self {
        Self {
            account: None,
            id: Some(id),
        }
    }
}

impl AuditContext {
    /// The client's address as a range of one; `None` if unknown.
    pub fn address(&self) -> Option<IpNet> {
        let address = self.address.as_ref()?;
        address.parse::<IpAddr>().ok().map(IpNet::from)
    }

    pub fn service() -> Self {
        Self {
            actor: Actor::Service,
            request: None,
            address: None,
        }
    }

    pub fn new(actor: Actor, origin: &CallOrigin) -> Self {
        Self {
            actor,
            request: origin.request.clone(),
            address: origin.address.map(|it| it.to_string()),
        }
    }

    /// The entry about a change, with the state of its subject before and after it, for the commit of the change.
    pub fn record(
        &self,
        core: &Core,
        action: Action,
        subject: Subject,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Write {
        let entry = to_audit_entry(self.entry(core, action, subject), before, after);
        AUDIT_LOG.put(&entry.id, &entry)
    }

    /// An entry without `before` and `after`.
    pub fn entry(&self, core: &Core, action: Action, subject: Subject) -> AuditEntry {
        let at = core.now();
        AuditEntry {
            id: AuditId(core.new_id(at)),
            at,
            actor: self.actor,
            action,
            account: subject.account,
            subject: subject.id,
            before: None,
            after: None,
            request: self.request.clone(),
            address: self.address.clone(),
        }
    }
}

/// The entry about a new record, whose id is known only after the decision.
pub fn creation_entry<I: Copy + Into<Uuid>>(entry: AuditEntry, facts: Value) -> ToAuditEntry<I> {
    Box::new(move |id| {
        let entry = AuditEntry {
            subject: Some((*id).into()),
            ..entry.clone()
        };
        to_audit_entry(entry, None, Some(facts.clone()))
    })
}

/// Adds the state of the subject before and after the change, with long texts truncated.
pub fn to_audit_entry(
    entry: AuditEntry,
    before: Option<Value>,
    after: Option<Value>,
) -> AuditEntry {
    let text = |facts: Option<Value>| facts.map(|facts| truncate_texts(facts).to_string());
    AuditEntry {
        before: text(before),
        after: text(after),
        ..entry
    }
}

fn truncate_texts(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_TEXT_CHARS) {
            Some((at, _)) => Value::String(format!("{}...", &text[..at])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(truncate_texts).collect(),
        Value::Object(members) => {
            let short = |(name, value)| (name, truncate_texts(value));
            Value::Object(members.into_iter().map(short).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_texts_are_truncated_at_every_depth() {
        let long = "é".repeat(501);
        let cut = format!("{}...", "é".repeat(500));
        let facts = json!({"url": long, "ips": ["é".repeat(500), long], "rate": {"burst": 1}});
        let short = json!({"url": cut, "ips": ["é".repeat(500), cut], "rate": {"burst": 1}});
        assert_eq!(truncate_texts(facts), short);
    }
}
