//! Who asks for a change, and the line of the audit log that says so.

use super::call_origin::CallOrigin;
use super::state::AppState;
use serde_json::Value;
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry, Note};
use tintype_storage::domain::ids::{AccountId, AuditId};
use uuid::Uuid;

/// Characters of one text that a line keeps: a record has to fit the store, with two of the longest URLs in it.
const MAX_TEXT_CHARS: usize = 500;

/// Who asks, from where, under which request.
#[derive(Clone, Debug)]
pub struct AuditContext {
    actor: Actor,
    request: Option<String>,
    address: Option<String>,
}

/// What is changed: whose, and which of it.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Whose affairs; `None` for what concerns all.
    pub account: Option<AccountId>,
    /// The thing itself.
    pub id: Option<Uuid>,
}

impl AuditContext {
    /// The service itself.
    pub fn service() -> Self {
        Self {
            actor: Actor::Service,
            request: None,
            address: None,
        }
    }

    /// The operator, or a person, behind a call.
    pub fn new(actor: Actor, origin: &CallOrigin) -> Self {
        Self {
            actor,
            request: origin.request.clone(),
            address: origin.address.map(|it| it.to_string()),
        }
    }

    /// A line that says nothing yet of before and after.
    pub fn line(&self, state: &AppState, action: Action, subject: Subject) -> AuditEntry {
        let at = state.now();
        AuditEntry {
            id: AuditId(state.system.accounts().context().ids.next(at)),
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

/// The line of something that is made, which has its id only once it is decided.
pub fn note_of_new<I: Copy + Into<Uuid>>(line: AuditEntry, facts: Value) -> Note<I> {
    Box::new(move |id| {
        let line = AuditEntry {
            subject: Some((*id).into()),
            ..line.clone()
        };
        to_audit_entry(line, None, Some(facts.clone()))
    })
}

/// The line with how its subject was before and is afterwards.
pub fn to_audit_entry(line: AuditEntry, before: Option<Value>, after: Option<Value>) -> AuditEntry {
    let text = |facts: Option<Value>| facts.map(|facts| shortened(facts).to_string());
    AuditEntry {
        before: text(before),
        after: text(after),
        ..line
    }
}

fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_TEXT_CHARS) {
            Some((at, _)) => Value::String(format!("{}...", &text[..at])),
            None => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(shortened).collect(),
        Value::Object(members) => {
            let short = |(name, value)| (name, shortened(value));
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
    fn long_texts_are_cut_wherever_they_stand() {
        let long = "é".repeat(501);
        let cut = format!("{}...", "é".repeat(500));
        let facts = json!({"url": long, "ips": ["é".repeat(500), long], "rate": {"burst": 1}});
        let short = json!({"url": cut, "ips": ["é".repeat(500), cut], "rate": {"burst": 1}});
        assert_eq!(shortened(facts), short);
    }
}
