//! People of an account: listed for its own, invited, changed and removed by the operator. Each change has its line in the
//! audit log, in the same commit.

use super::guard::{OfAccount, OperatorHere};
use super::tokens;
use crate::http::author::{Author, Subject, told};
use crate::http::body;
use crate::http::paging::{Listing, Window};
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use crate::http::wire::fields::Fields;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use std::time::Duration;
use tintype_storage::domain::audit_log::{Action, AuditEntry};
use tintype_storage::domain::person::{Email, Invitation, Person, PersonId, Role};

/// How long an invitation is good.
const INVITATION: Duration = Duration::from_secs(7 * 86_400);

fn view(state: &AppState, person: &Person) -> Value {
    let open = person.invitation.filter(|it| state.now() < it.expires_at);
    json!({
        "person_id": person.id.to_string(),
        "email": person.email.as_str(),
        "role": person.role.word(),
        "status": match (&person.password, &open) {
            (Some(_), _) => "active",
            (None, Some(_)) => "invited",
            (None, None) => "expired",
        },
        "invitation_expires_at": open.map(|it| it.expires_at.to_string()),
        "created_at": person.created_at.to_string(),
    })
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
pub fn line(state: &AppState, author: &Author, action: Action, person: &Person) -> AuditEntry {
    let subject = Subject {
        account: Some(person.account),
        id: Some(person.id.0),
    };
    author.line(state, action, subject)
}

/// Writes a changed person with the line that says so. The caller holds `changing`.
async fn keep(
    state: &AppState,
    author: &Author,
    action: Action,
    before: Option<&Person>,
    after: &Person,
) -> Result<(), Problem> {
    let line = line(state, author, action, after);
    let line = told(line, before.map(facts), Some(facts(after)));
    let mut writes = state.store.put_person(after);
    writes.push(state.store.add_audit(&line));
    Ok(state.commit(writes).await?)
}

/// The one answer that shows the link.
fn invited(state: &AppState, person: &Person, token: &str) -> Value {
    let mut view = view(state, person);
    view["invitation_url"] = json!(format!("{}/panel#/invitation/{token}", state.public_url));
    view
}

fn find(of: &OfAccount, request: &HttpRequest, state: &AppState) -> Result<Person, Problem> {
    let missing = || Problem::new(Code::NotFound, "there is no such person");
    let id: PersonId = of
        .part(request, "person_id")
        .parse()
        .map_err(|_| missing())?;
    state.store.person(of.account.id, id)?.ok_or_else(missing)
}

/// `GET /people`
pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = Window::of(&request)?;
    let page = state
        .store
        .people_of(of.account.id, window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, |person| view(&state, &person))))
}

fn role(fields: &mut Fields<'_>) -> Option<Role> {
    let word = fields.required_string("role")?;
    fields.checked(
        "role",
        word.parse::<Role>().map_err(|_| "must be owner or viewer"),
    )
}

/// `POST /people`: invites somebody.
pub async fn invite(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let email = fields.required_string("email");
    let email = email.and_then(|text| fields.checked("email", text.parse::<Email>()));
    let role = role(&mut fields);
    fields
        .finish(&["email", "role"])
        .map_err(Problem::validation)?;
    let (Some(email), Some(role)) = (email, role) else {
        return Err(Problem::field("body", "is incomplete"));
    };
    let _changing = state.panel.changing.lock().await;
    if state.store.person_by_email(&email)?.is_some() {
        let detail = "somebody with this e-mail address has been invited already";
        return Err(Problem::new(Code::Conflict, detail));
    }
    let now = state.now();
    let id = PersonId(state.system.accounts().context().ids.next(now));
    let (token, secret) = tokens::invitation(of.account.id, id);
    let person = Person {
        id,
        account: of.account.id,
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
    let author = of.operator().author;
    keep(&state, &author, Action::PersonInvite, None, &person).await?;
    Ok(HttpResponse::Created().json(invited(&state, &person, &token)))
}

/// `POST /people/{person_id}/invitation`: a new link, which also lets somebody choose a password who has forgotten theirs.
pub async fn invite_again(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    let before = find(&of, &request, &state)?;
    let (token, secret) = tokens::invitation(of.account.id, before.id);
    let person = Person {
        invitation: Some(Invitation {
            secret,
            expires_at: state.now().plus(INVITATION),
        }),
        ..before.clone()
    };
    let author = of.operator().author;
    let action = Action::PersonInviteAgain;
    keep(&state, &author, action, Some(&before), &person).await?;
    Ok(HttpResponse::Ok().json(invited(&state, &person, &token)))
}

/// `PATCH /people/{person_id}`
pub async fn change(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let mut fields = Fields::parse(&body).map_err(Problem::validation)?;
    let role = role(&mut fields);
    fields.finish(&["role"]).map_err(Problem::validation)?;
    let role = role.ok_or_else(|| Problem::field("role", "is required"))?;
    let _changing = state.panel.changing.lock().await;
    let before = find(&of, &request, &state)?;
    let person = Person {
        role,
        ..before.clone()
    };
    if person != before {
        let author = of.operator().author;
        keep(
            &state,
            &author,
            Action::PersonChange,
            Some(&before),
            &person,
        )
        .await?;
    }
    Ok(HttpResponse::Ok().json(view(&state, &person)))
}

/// `DELETE /people/{person_id}`: their sessions are over at once.
pub async fn remove(
    _: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    let person = find(&of, &request, &state)?;
    let author = of.operator().author;
    let line = line(&state, &author, Action::PersonRemove, &person);
    let mut writes = state.store.remove_person(&person);
    let line = told(line, Some(facts(&person)), None);
    writes.push(state.store.add_audit(&line));
    state.commit(writes).await?;
    Ok(HttpResponse::NoContent().finish())
}
