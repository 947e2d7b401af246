//! The audit log.

use crate::schema::Metadata;
use crate::text::{ActionWord, ActorWord, Id, Moment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tintype_storage::domain::audit_log;

/// An entry of the audit log.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// The entry's id.
    pub audit_id: Id,
    /// When the change was made.
    pub at: Moment,
    /// Who made the change: the operator, the service, or a signed-in person.
    pub actor: ActorWord,
    /// The person, if a person made the change, or `null`.
    pub person_id: Option<Id>,
    /// What was done.
    pub action: ActionWord,
    /// The affected account. `null` if the change concerns all accounts.
    pub account_id: Option<Id>,
    /// The id of the changed object, or `null`.
    pub subject_id: Option<Id>,
    /// The object before the change. `null` for a new object.
    #[schemars(with = "Option<Metadata>")]
    pub before: Option<Box<RawValue>>,
    /// The object after the change. `null` for a removed object.
    #[schemars(with = "Option<Metadata>")]
    pub after: Option<Box<RawValue>>,
    /// The `X-Request-Id` of the request, or `null`.
    pub request_id: Option<String>,
    /// The IP address of the client, or `null`.
    pub address: Option<String>,
}

impl From<audit_log::AuditEntry> for AuditEntry {
    fn from(entry: audit_log::AuditEntry) -> Self {
        // The stored values are JSON. If one is not, the entry appears without it.
        let facts = |text: Option<String>| text.and_then(|it| RawValue::from_string(it).ok());
        Self {
            audit_id: entry.id.into(),
            at: entry.at.into(),
            actor: entry.actor.as_str().into(),
            person_id: entry.actor.person().map(|it| it.hyphenated().into()),
            action: entry.action.as_str().into(),
            account_id: entry.account.map(Id::from),
            subject_id: entry.subject.map(|it| it.hyphenated().into()),
            before: facts(entry.before),
            after: facts(entry.after),
            request_id: entry.request,
            address: entry.address,
        }
    }
}
