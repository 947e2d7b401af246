//! People who sign in to the panel for an account.

use crate::field::{Email as EmailField, FlagOrFalse, Optional, Required, Role as RoleField};
use crate::text::{Id, Moment, PersonStatus, RoleWord, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::person::{self, Email, Role};
use tintype_storage::domain::time::Timestamp;

/// An invitation.
pub struct InvitePerson {
    pub email: Email,
    pub role: Role,
}

body!(InvitePerson {
    /// What they sign in with. Nobody else of the whole service has it.
    email: Required<EmailField>,
    /// An owner may change what an account can change; a viewer looks.
    role: Required<RoleField>,
});

/// A change of a person.
pub struct PersonChange {
    pub role: Role,
}

body!(PersonChange {
    /// An owner may change what an account can change; a viewer looks.
    role: Required<RoleField>,
});

/// Another invitation.
#[derive(Default)]
pub struct InviteAgain {
    pub revoke: Option<bool>,
}

body!(InviteAgain {
    /// Whether the password that they have and all of their sessions end at once. Otherwise both are good until the link is taken up.
    revoke: Optional<FlagOrFalse>,
});

/// A person on the wire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Person {
    /// The person's id.
    pub person_id: Id,
    /// The account that they see.
    pub account_id: Id,
    /// What they sign in with.
    pub email: String,
    /// What they may do: an owner changes, a viewer looks.
    pub role: RoleWord,
    /// Whether they have chosen a password, can still do so, or need another link for it.
    pub status: PersonStatus,
    /// Until when the link of their invitation is good; `null` where there is none.
    pub invitation_expires_at: Option<Moment>,
    /// The link with which they choose a password. Shown this once: only a hash of it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Url")]
    pub invitation_url: Option<Url>,
    /// When they were invited.
    pub created_at: Moment,
}

impl Person {
    /// A person as of `now`; `invitation_url` is the link of an invitation that was made just now.
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
            role: person.role.word().into(),
            status: status.into(),
            invitation_expires_at: open.map(|it| it.expires_at.into()),
            invitation_url: invitation_url.map(Url::from),
            created_at: person.created_at.into(),
        }
    }
}
