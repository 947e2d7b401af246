//! The audit log: who changed what.

use crate::schema::Metadata;
use crate::text::{ActionWord, ActorWord, Id, Moment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tintype_storage::domain::audit_log;

/// A line of the log on the wire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Change", deny_unknown_fields)]
pub struct AuditEntry {
    /// The line's id.
    pub audit_id: Id,
    /// When.
    pub at: Moment,
    /// The operator, the service itself, or a person who had signed in.
    pub actor: ActorWord,
    /// Only of a person.
    pub person_id: Option<Id>,
    /// What.
    pub action: ActionWord,
    /// Whose affairs; `null` for what concerns all.
    pub account_id: Option<Id>,
    /// The thing itself.
    pub subject_id: Option<Id>,
    /// How it was; `null` for what is new.
    #[schemars(with = "Option<Metadata>")]
    pub before: Option<Box<RawValue>>,
    /// How it is; `null` for what is gone.
    #[schemars(with = "Option<Metadata>")]
    pub after: Option<Box<RawValue>>,
    /// The call's `X-Request-Id`.
    pub request_id: Option<String>,
    /// Where the call came from.
    pub address: Option<String>,
}

impl From<audit_log::AuditEntry> for AuditEntry {
    fn from(entry: audit_log::AuditEntry) -> Self {
        // Stored facts are JSON. A line whose facts are not is told without them rather than not at all.
        let facts = |text: Option<String>| text.and_then(|it| RawValue::from_string(it).ok());
        Self {
            audit_id: entry.id.into(),
            at: entry.at.into(),
            actor: entry.actor.word().into(),
            person_id: entry.actor.person().map(|it| it.hyphenated().into()),
            action: entry.action.word().into(),
            account_id: entry.account.map(Id::from),
            subject_id: entry.subject.map(|it| it.hyphenated().into()),
            before: facts(entry.before),
            after: facts(entry.after),
            request_id: entry.request,
            address: entry.address,
        }
    }
}
