//! The log of what was changed over the operator interface and in the panel: who, what, when, and how it was before and after.

use super::ids::{AccountId, AuditId};
use super::tier::{UnknownWord, words};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// Whoever holds the operator's token.
    Operator,
    /// The service itself: what it makes at its first start, or for a single picture.
    Service,
    /// A person who has signed in.
    Person(Uuid),
}

impl Actor {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
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

words!(
    /// What was done. New ones are added at the end: the place of each in this list is what is stored.
    Action {
        /// An account was opened.
        AccountCreate = "account.create",
        /// Money was added, or some taken back.
        DepositCreate = "deposit.create",
        /// A key was made.
        KeyCreate = "key.create",
        /// A key's name, scope or limits were changed.
        KeyChange = "key.change",
        /// A key was given a new text.
        KeyRotate = "key.rotate",
        /// A key was removed.
        KeyDelete = "key.delete",
        /// A webhook was registered.
        WebhookCreate = "webhook.create",
        /// A webhook's URL or encoding was changed.
        WebhookChange = "webhook.change",
        /// A webhook was given a new secret.
        WebhookRotateSecret = "webhook.rotate_secret",
        /// A webhook was removed.
        WebhookDelete = "webhook.delete",
        /// A test delivery was sent.
        WebhookTest = "webhook.test",
        /// A delivery was sent again.
        DeliveryRedeliver = "delivery.redeliver",
        /// The project or a model was paused, or taken up again.
        PauseChange = "pause.change",
        /// A queued job was canceled.
        JobCancel = "job.cancel",
        /// A person was invited.
        PersonInvite = "person.invite",
        /// A person was given a new link, with which a password is chosen anew.
        PersonInviteAgain = "person.invite_again",
        /// A person took up an invitation and chose a password.
        PersonJoin = "person.join",
        /// A person's role was changed.
        PersonChange = "person.change",
        /// A person chose another password.
        PersonChangePassword = "person.change_password",
        /// A person was removed.
        PersonRemove = "person.remove",
        /// Somebody signed in to the panel.
        SessionBegin = "session.begin",
        /// Somebody signed out.
        SessionEnd = "session.end",
        /// Somebody ended all of their sessions.
        SessionEndAll = "session.end_all",
        /// A picture was asked for in the panel, at the account's cost.
        JobCreate = "job.create",
        /// An account was given another name, or switched off or on.
        AccountChange = "account.change",
        /// A batch was submitted in the panel, at the account's cost.
        BatchCreate = "batch.create",
        /// A batch was canceled.
        BatchCancel = "batch.cancel",
    }
);

/// One change. Written in the commit that makes it true, and never changed afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: AuditId,
    pub at: Timestamp,
    pub actor: Actor,
    pub action: Action,
    /// To whose affairs; `None` for what concerns all.
    pub account: Option<AccountId>,
    /// The account, key, webhook, delivery, job, person or ledger entry that it was done to.
    pub subject: Option<Uuid>,
    /// How the subject was before, as a JSON object without secrets; `None` where it was not there yet.
    ///
    /// Text, because the log tells what was shown at the time: no later shape of a record may change how an old line reads.
    pub before: Option<String>,
    /// How it was afterwards; `None` where it is no more.
    pub after: Option<String>,
    /// The request that asked for it.
    pub request: Option<String>,
    /// The address that the request came from.
    pub address: Option<String>,
}

/// Writes the line of a change once its outcome is known.
pub type Note<T> = Box<dyn Fn(&T) -> AuditEntry + Send>;
