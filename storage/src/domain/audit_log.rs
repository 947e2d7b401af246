//! The audit log: who changed what in the operator API or the panel, when, and the values before and after.

use super::ids::{AccountId, AuditId};
use super::named_enum::named_enum;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// The holder of the operator token.
    Operator,
    /// The service: records of the first start, and of single-image runs.
    Service,
    /// A signed-in person.
    Person(Uuid),
}

impl Actor {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Service => "service",
            Self::Person(_) => "person",
        }
    }

    pub fn person(self) -> Option<Uuid> {
        match self {
            Self::Person(id) => Some(id),
            Self::Operator | Self::Service => None,
        }
    }
}

named_enum!(
    /// Append only: a variant's position is its stored value.
    Action {
        AccountCreate = "account.create",
        /// A deposit or a correction.
        DepositCreate = "deposit.create",
        KeyCreate = "key.create",
        /// A key's name, scope or limits changed.
        KeyChange = "key.change",
        KeyRotate = "key.rotate",
        KeyDelete = "key.delete",
        WebhookCreate = "webhook.create",
        /// A webhook's URL or encoding changed.
        WebhookChange = "webhook.change",
        WebhookRotateSecret = "webhook.rotate_secret",
        WebhookDelete = "webhook.delete",
        WebhookTest = "webhook.test",
        DeliveryRedeliver = "delivery.redeliver",
        /// The project or a model was paused or resumed.
        PauseChange = "pause.change",
        JobCancel = "job.cancel",
        PersonInvite = "person.invite",
        /// A person got a new link to choose a password.
        PersonInviteAgain = "person.invite_again",
        /// A person accepted an invitation and chose a password.
        PersonJoin = "person.join",
        /// A person's role changed.
        PersonChange = "person.change",
        PersonChangePassword = "person.change_password",
        PersonRemove = "person.remove",
        /// A person signed in to the panel.
        SessionBegin = "session.begin",
        SessionEnd = "session.end",
        /// A person ended all of their sessions.
        SessionEndAll = "session.end_all",
        /// An image was requested in the panel, at the account's cost.
        JobCreate = "job.create",
        /// An account was renamed, activated or deactivated.
        AccountChange = "account.change",
        /// A batch was submitted in the panel, at the account's cost.
        BatchCreate = "batch.create",
        BatchCancel = "batch.cancel",
        /// The image of a done job was deleted before its retention ended.
        JobDeleteImage = "job.delete_image",
        /// The texts and the image of an ended job were deleted.
        JobErase = "job.erase",
        /// An account was deactivated, and everything but its ledger and usage was erased.
        AccountErase = "account.erase",
    }
);

/// One change. Written in the commit of the change, and immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: AuditId,
    pub at: Timestamp,
    pub actor: Actor,
    pub action: Action,
    /// The account concerned; `None` for changes that concern the whole service.
    pub account: Option<AccountId>,
    /// The id of the changed account, key, webhook, delivery, job, person or ledger entry.
    pub subject: Option<Uuid>,
    /// The subject before the change, as a JSON object without secrets; `None` if the change created it.
    ///
    /// Stored as text: a later shape of a record must not change how an old entry reads.
    pub before: Option<String>,
    /// `None` if the change removed the subject.
    pub after: Option<String>,
    /// The id of the request.
    pub request: Option<String>,
    /// The client's address.
    pub address: Option<String>,
}

/// Builds the audit entry once the outcome of a change is known.
pub type ToAuditEntry<T> = Box<dyn Fn(&T) -> AuditEntry + Send>;
