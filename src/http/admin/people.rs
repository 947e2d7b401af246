//! People of an account, who sign in to the panel: invited, changed, signed out and removed. Each change has its line in the
//! audit log, in the same commit.

use super::accounts;
use crate::api::fields::Fields;
use crate::api::kinds;
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::commit::{Change, Turn};
use crate::application::state::AppState;
use crate::application::tokens;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{Code, Problem};
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::person::{Email, Invitation, Person, PersonId, Role};

/// How long an invitation is good.
const INVITATION: Duration = Duration::from_secs(7 * 86_400);
/// The fields of somebody who is invited.
pub const FIELDS: &[&str] = &["email", "role"];
/// What can be changed of them.
pub const CHANGE: &[&str] = &["role"];
/// The fields of a new invitation.
pub const AGAIN: &[&str] = &["revoke"];

/// The account and the person of a path.
pub type Place = web::Path<(String, String)>;

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
    fn new(state: &AppState, person: &Person, link: Option<&str>) -> Self {
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

/// What the audit log says of a person: neither password nor link.
pub fn facts(person: &Person) -> Value {
    json!({
        "email": person.email.as_str(),
        "role": person.role.word(),
        "has_password": person.password.is_some(),
        "invitation_expires_at": person.invitation.map(|it| it.expires_at.to_string()),
    })
}

/// A line of the audit log about a person.
pub fn line(
    state: &AppState,
    author: &AuditContext,
    action: Action,
    person: &Person,
) -> AuditEntry {
    let subject = Subject {
        account: Some(person.account),
        id: Some(person.id.0),
    };
    author.line(state, action, subject)
}

/// Writes a changed person with the line that says so.
async fn keep(
    state: &AppState,
    turn: Turn,
    line: AuditEntry,
    before: Option<&Person>,
    after: &Person,
) -> Result<(), Problem> {
    let line = to_audit_entry(line, before.map(facts), Some(facts(after)));
    let mut writes = state.store.put_person(after);
    writes.push(state.store.add_audit(&line));
    Ok(state.commit(Change::in_turn(turn, writes)).await?)
}

fn find(state: &AppState, account: &Account, id: &str) -> Result<Person, Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no such person");
    let id: PersonId = id.parse().map_err(|_| missing())?;
    state.store.person(account.id, id)?.ok_or_else(missing)
}

/// `GET /accounts/{account_id}/people`
pub async fn list(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path)?;
    let window = Window::of(&request)?;
    let store = &state.store;
    let page = store.people_of(account.id, window.limit, window.after)?;
    let view = |person| PersonView::new(&state, &person, None);
    Ok(HttpResponse::Ok().json(Listing::new(page, view)))
}

/// `GET /accounts/{account_id}/people/{person_id}`
pub async fn show(
    _: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path.0)?;
    let person = find(&state, &account, &path.1)?;
    Ok(HttpResponse::Ok().json(PersonView::new(&state, &person, None)))
}

fn role(fields: &mut Fields<'_>) -> Option<Role> {
    let word = fields.required_string("role")?;
    fields.checked(
        "role",
        word.parse::<Role>().map_err(|_| "must be owner or viewer"),
    )
}

/// `POST /accounts/{account_id}/people`: invites somebody.
pub async fn invite(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let email = fields.required_string("email");
    let email = email.and_then(|text| fields.checked("email", text.parse::<Email>()));
    let role = role(&mut fields);
    fields.finish(FIELDS).map_err(Problem::validation)?;
    let (Some(email), Some(role)) = (email, role) else {
        return Err(Problem::field("body", "is incomplete"));
    };
    let turn = state.people.take().await;
    if state.store.person_by_email(&email)?.is_some() {
        let detail = "somebody with this e-mail address has been invited already";
        return Err(Problem::new(Code::Conflict, detail));
    }
    let now = state.now();
    let id = PersonId(state.system.accounts().context().ids.next(now));
    let (token, secret) = tokens::invitation(account.id, id);
    let person = Person {
        id,
        account: account.id,
        email,
        role,
        password: None,
        invitation: Some(Invitation {
            secret,
            expires_at: now.plus(INVITATION),
        }),
        generation: 0,
        created_at: now,
    };
    let line = line(&state, &operator.author, Action::PersonInvite, &person);
    keep(&state, turn, line, None, &person).await?;
    let view = PersonView::new(&state, &person, Some(&token));
    Ok(once(HttpResponse::Created().json(view)))
}

/// An answer that shows a link, which nobody is to keep.
fn once(mut answer: HttpResponse) -> HttpResponse {
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// `POST /accounts/{account_id}/people/{person_id}/invitation`: a new link, with which somebody chooses a password who has
/// none or has forgotten theirs. With `revoke` the password that they have and their sessions end at once.
pub async fn invite_again(
    operator: Operator,
    path: Place,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path.0)?;
    find(&state, &account, &path.1)?;
    let revoke = match body::read_optional_json(&request, payload, &state).await? {
        None => false,
        Some(body) => {
            let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
            let revoke = fields.optional_bool("revoke").unwrap_or(false);
            fields.finish(AGAIN).map_err(Problem::validation)?;
            revoke
        }
    };
    let turn = state.people.take().await;
    let before = find(&state, &account, &path.1)?;
    let (token, secret) = tokens::invitation(account.id, before.id);
    let invited = Person {
        invitation: Some(Invitation {
            secret,
            expires_at: state.now().plus(INVITATION),
        }),
        ..before.clone()
    };
    let person = match revoke {
        true => Person {
            password: None,
            ..signed_out(invited)
        },
        false => invited,
    };
    let line = line(&state, &operator.author, Action::PersonInviteAgain, &person);
    keep(&state, turn, line, Some(&before), &person).await?;
    let view = PersonView::new(&state, &person, Some(&token));
    Ok(once(HttpResponse::Ok().json(view)))
}

/// The person with all sessions over.
pub fn signed_out(person: Person) -> Person {
    Person {
        generation: person.generation.wrapping_add(1),
        ..person
    }
}

/// `PATCH /accounts/{account_id}/people/{person_id}`
pub async fn change(
    operator: Operator,
    path: Place,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path.0)?;
    find(&state, &account, &path.1)?;
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let role = role(&mut fields);
    fields.finish(CHANGE).map_err(Problem::validation)?;
    let role = role.ok_or_else(|| Problem::field("role", "is required"))?;
    let turn = state.people.take().await;
    let before = find(&state, &account, &path.1)?;
    let person = Person {
        role,
        ..before.clone()
    };
    if person != before {
        let line = line(&state, &operator.author, Action::PersonChange, &person);
        keep(&state, turn, line, Some(&before), &person).await?;
    }
    Ok(HttpResponse::Ok().json(PersonView::new(&state, &person, None)))
}

/// `DELETE /accounts/{account_id}/people/{person_id}`: their sessions are over at once.
pub async fn remove(
    operator: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path.0)?;
    let turn = state.people.take().await;
    let person = find(&state, &account, &path.1)?;
    let line = line(&state, &operator.author, Action::PersonRemove, &person);
    let mut writes = state.store.remove_person(&person);
    let line = to_audit_entry(line, Some(facts(&person)), None);
    writes.push(state.store.add_audit(&line));
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /accounts/{account_id}/people/{person_id}/sessions`: signs somebody out wherever they are. They can sign in again.
pub async fn sign_out(
    operator: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path.0)?;
    let turn = state.people.take().await;
    let before = find(&state, &account, &path.1)?;
    let person = signed_out(before.clone());
    let line = line(&state, &operator.author, Action::SessionEndAll, &person);
    let facts = |it: &Person| json!({"generation": it.generation});
    let line = to_audit_entry(line, Some(facts(&before)), Some(facts(&person)));
    let mut writes = state.store.put_person(&person);
    writes.push(state.store.add_audit(&line));
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(HttpResponse::NoContent().finish())
}
