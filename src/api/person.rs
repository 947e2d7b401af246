//! People on the wire.

use super::fields::Fields;
use super::kinds;
use crate::application::error::Error;
use crate::application::state::AppState;
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::person::{Email, Person, Role};

/// The fields of an invitation.
pub const FIELDS: &[&str] = &["email", "role"];
/// What can be changed of them.
pub const CHANGE: &[&str] = &["role"];
/// The fields of a new invitation.
pub const AGAIN: &[&str] = &["revoke"];

/// A person on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Person", deny_unknown_fields)]
pub struct PersonView {
    /// The person's id.
    #[schemars(with = "kinds::Id")]
    person_id: String,
    /// The account that they see.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// What they sign in with.
    email: String,
    /// What they may do: an owner changes, a viewer looks.
    #[schemars(with = "kinds::RoleWord")]
    role: &'static str,
    /// Whether they have chosen a password, can still do so, or need another link for it.
    #[schemars(with = "kinds::PersonStatus")]
    status: &'static str,
    /// Until when the link of their invitation is good; `null` where there is none.
    #[schemars(with = "Option<kinds::Moment>")]
    invitation_expires_at: Option<String>,
    /// The link with which they choose a password. Shown this once: only a hash of it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "kinds::Url")]
    invitation_url: Option<String>,
    /// When they were invited.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

impl PersonView {
    /// `link` is the token of an invitation that was made just now.
    pub fn new(state: &AppState, person: &Person, link: Option<&str>) -> Self {
        let open = person.invitation.filter(|it| state.now() < it.expires_at);
        let url = |token| format!("{}/panel#/invitation/{token}", state.public_url);
        Self {
            person_id: person.id.to_string(),
            account_id: person.account.to_string(),
            email: person.email.as_str().to_owned(),
            role: person.role.word(),
            status: match (&person.password, &open) {
                (Some(_), _) => "active",
                (None, Some(_)) => "invited",
                (None, None) => "expired",
            },
            invitation_expires_at: open.map(|it| it.expires_at.to_string()),
            invitation_url: link.map(url),
            created_at: person.created_at.to_string(),
        }
    }
}

fn role(fields: &mut Fields<'_>) -> Option<Role> {
    let word = fields.required_string("role")?;
    fields.checked(
        "role",
        word.parse::<Role>().map_err(|_| "must be owner or viewer"),
    )
}

/// Whom a body invites.
pub fn read_new(body: &[u8]) -> Result<(Email, Role), Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let email = fields.required_string("email");
    let email = email.and_then(|text| fields.checked("email", text.parse::<Email>()));
    let role = role(&mut fields);
    fields.finish(FIELDS).map_err(Error::invalid)?;
    let incomplete = || Error::field("body", "is incomplete");
    email.zip(role).ok_or_else(incomplete)
}

/// Does a body revoke the password? It may be left out.
pub fn read_again(body: Option<&[u8]>) -> Result<bool, Error> {
    let Some(body) = body else { return Ok(false) };
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let revoke = fields.optional_bool("revoke").unwrap_or(false);
    fields.finish(AGAIN).map_err(Error::invalid)?;
    Ok(revoke)
}

/// The role that a body asks for.
pub fn read_change(body: &[u8]) -> Result<Role, Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let role = role(&mut fields);
    fields.finish(CHANGE).map_err(Error::invalid)?;
    role.ok_or_else(|| Error::field("role", "is required"))
}
