//! People: the panel users of an account.

use crate::field::{Email as EmailField, FlagOrFalse, Optional, Required, Role as RoleField};
use crate::text::{Id, Moment, PersonStatus, RoleWord, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::person::{self, Email, Role};
use tintype_storage::domain::time::Timestamp;

/// A request to invite a person.
pub struct InvitePerson {
    pub email: Email,
    pub role: Role,
}

body!(InvitePerson {
    /// The email address for signing in. It is unique in the service.
    email: Required<EmailField>,
    /// An owner can change the account's settings. A viewer has read-only access.
    role: Required<RoleField>,
});

/// A request to change a person.
pub struct PersonChange {
    pub role: Role,
}

body!(PersonChange {
    /// An owner can change the account's settings. A viewer has read-only access.
    role: Required<RoleField>,
});

/// A request for a new invitation.
#[derive(Default)]
pub struct InviteAgain {
    pub revoke: Option<bool>,
}

body!(InviteAgain {
    /// Revoke the person's password and sessions immediately? Otherwise both remain valid until the person opens the link.
    revoke: Optional<FlagOrFalse>,
});

/// A panel user.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Person {
    /// The person's id.
    pub person_id: Id,
    /// The account of the person.
    pub account_id: Id,
    /// The email address for signing in.
    pub email: String,
    /// An owner can change the account's settings. A viewer has read-only access.
    pub role: RoleWord,
    /// `active`: the person has a password. `invited`: the invitation is open. `expired`: the person needs a new invitation.
    pub status: PersonStatus,
    /// When the invitation expires. `null` without an open invitation.
    pub invitation_expires_at: Option<Moment>,
    /// The link for choosing a password. Shown only once: the service stores only its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Url")]
    pub invitation_url: Option<Url>,
    /// When the person was first invited.
    pub created_at: Moment,
}

impl Person {
    /// `invitation_url` is the link of an invitation that was just created.
    pub fn new(person: &person::Person, invitation_url: Option<String>, now: Timestamp) -> Self {
        let open = person.invitation.filter(|it| now < it.expires_at);
        let status = match (&person.password, &open) {
            (Some(_), _) => "active",
            (None, Some(_)) => "invited",
            (None, None) => "expired",
        };
        Self {
            person_id: person.id.into(),
            account_id: person.account.into(),
            email: person.email.as_str().to_owned(),
            role: person.role.as_str().into(),
            status: status.into(),
            invitation_expires_at: open.map(|it| it.expires_at.into()),
            invitation_url: invitation_url.map(Url::from),
            created_at: person.created_at.into(),
        }
    }
}
