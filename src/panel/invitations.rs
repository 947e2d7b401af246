//! Taking up an invitation: the one-time link with which a person chooses their password.

use super::Panel;
use super::{form, passwords, sessions};
use crate::application::audit_context::to_audit_entry;
use crate::application::people;
use crate::application::state::AppState;
use crate::application::tokens;
use crate::web::audit_context;
use crate::web::problem::{Code, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use tintype_storage::domain::audit_log::{Action, Actor};
use tintype_storage::domain::person::Person;

fn worthless() -> Problem {
    Problem::new(
        Code::Gone,
        "this invitation has been used or has expired; ask for a new one",
    )
}

fn find(state: &AppState, token: &str) -> Result<Person, Problem> {
    let (account, person, secret) = tokens::read_invitation(token).ok_or_else(worthless)?;
    let person = state.store.person(account, person)?;
    let good = person.filter(|it| it.admits(&secret, state.now()));
    good.ok_or_else(worthless)
}

/// `POST /invitation`: whom it is for. In a body, so that the token stands in no log.
pub async fn look(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let [token] = form::strings(["token"], &request, payload, &state).await?;
    let attempt = panel.attempts.begin(&request, &state, None)?;
    let person = find(&state, &token)?;
    attempt.succeeded();
    let account = state.store.account(person.account)?;
    Ok(HttpResponse::Ok().json(json!({
        "email": person.email.as_str(),
        "role": person.role.word(),
        "account_name": account.map(|it| it.name),
        "min_chars": passwords::MIN_CHARS,
    })))
}

/// `POST /invitation/accept`: chooses the password and signs in.
pub async fn accept(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let names = ["token", "password"];
    let [token, password] = form::strings(names, &request, payload, &state).await?;
    let attempt = panel.attempts.begin(&request, &state, None)?;
    find(&state, &token)?;
    attempt.succeeded();
    passwords::check(&password).map_err(|fault| Problem::field("password", fault))?;
    let hash = panel.passwords.hash(password).await?;
    let turn = state.people.take().await;
    // Once more: of two who hold the link, one is the first.
    let before = find(&state, &token)?;
    let person = before.clone().with_password(hash);
    let author = audit_context::of(Actor::Person(person.id.0), &request, &state);
    let line = people::entry(&state, &author, Action::PersonJoin, &person);
    let line = to_audit_entry(
        line,
        Some(people::facts(&before)),
        Some(people::facts(&person)),
    );
    let mut writes = state.store.put_person(&person);
    writes.push(state.store.add_audit(&line));
    sessions::begin_for(&state, turn, &author, person, writes).await
}
