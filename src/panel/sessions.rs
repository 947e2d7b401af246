//! Signing in and out. Each has its line in the audit log, in the same commit; that a session is in use has none.

use super::Panel;
use super::guard::{SignedIn, Who};
use super::{cookie, form, passwords};
use crate::application::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::commit::{Change, Turn};
use crate::application::people;
use crate::application::state::AppState;
use crate::application::tokens;
use crate::web::audit_context;
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::audit_log::{Action, Actor, AuditEntry};
use tintype_storage::domain::person::{Email, Person, Session, Visitor};
use tintype_storage::store::{Generation, Writes};

fn wrong() -> Problem {
    Problem::new(
        Code::Unauthorized,
        "the e-mail address or the password is wrong",
    )
}

/// `POST /session/operator`: signs in with the operator's token.
pub async fn sign_in_operator(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let [token] = form::strings(["token"], &request, payload, &state).await?;
    let attempt = panel.attempts.begin(&request, &state, None)?;
    let shown = tokens::digest(token.trim().as_bytes());
    if shown.0 != state.admin_token {
        return Err(Problem::new(
            Code::Unauthorized,
            "the admin token is not valid; it is in the file admin-token of the data directory, unless the configuration sets it",
        ));
    }
    attempt.succeeded();
    let turn = state.people.take().await;
    let author = audit_context::of(Actor::Operator, &request, &state);
    let visitor = Visitor::Operator(shown);
    let who = Who::Operator;
    begin(&state, turn, visitor, &who, Some(&author), Writes::new()).await
}

/// `POST /session`: signs in with e-mail address and password.
pub async fn sign_in(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let names = ["email", "password"];
    let [email, password] = form::strings(names, &request, payload, &state).await?;
    let email: Email = email.parse().map_err(|_| wrong())?;
    let email_text = Some(email.as_str());
    let attempt = panel.attempts.begin(&request, &state, email_text)?;
    if password.chars().count() > passwords::MAX_CHARS {
        return Err(wrong());
    }
    let person = state.store.person_by_email(&email)?;
    let hash = person.as_ref().and_then(|it| it.password.clone());
    if !panel.passwords.verify(password, hash.clone()).await? {
        return Err(wrong());
    }
    let turn = state.people.take().await;
    // Once more: the person may have been removed, or have another password, since it was looked at.
    let person = state.store.person_by_email(&email)?;
    let person = person.filter(|it| it.password == hash).ok_or_else(wrong)?;
    attempt.succeeded();
    let author = audit_context::of(Actor::Person(person.id.0), &request, &state);
    begin_for(&state, turn, &author, person, Writes::new()).await
}

/// Begins a session of a person, in one commit with `writes`.
pub async fn begin_for(
    state: &AppState,
    turn: Turn,
    author: &AuditContext,
    person: Person,
    writes: Writes,
) -> Result<HttpResponse, Problem> {
    let visitor = Visitor::Person(person.account, person.id);
    let who = Who::Person(person);
    begin(state, turn, visitor, &who, Some(author), writes).await
}

/// What a session is about in the audit log: the person, or nobody for the operator.
fn subject(visitor: &Visitor) -> Subject {
    match visitor {
        Visitor::Operator(_) => Subject {
            account: None,
            id: None,
        },
        Visitor::Person(account, person) => Subject {
            account: Some(*account),
            id: Some(person.0),
        },
    }
}

/// `author` signs in; without one it is another session of somebody who has.
async fn begin(
    state: &AppState,
    turn: Turn,
    visitor: Visitor,
    who: &Who,
    author: Option<&AuditContext>,
    mut writes: Writes,
) -> Result<HttpResponse, Problem> {
    let now = state.now();
    let generation = match who {
        Who::Operator => state.store.operator_generation()?.0,
        Who::Person(person) => person.generation,
    };
    let session = Session {
        visitor,
        generation,
        created_at: now,
        seen_at: now,
    };
    let id = tokens::session_id();
    let digest = tokens::digest(id.as_bytes());
    writes.extend(state.store.put_session(&digest, &session));
    if let Some(author) = author {
        let line = author.line(state, Action::SessionBegin, subject(&visitor));
        let ends = now.plus(Session::LIFETIME).to_string();
        let line = to_audit_entry(line, None, Some(json!({"expires_at": ends})));
        writes.push(state.store.add_audit(&line));
    }
    state.commit(Change::in_turn(turn, writes)).await?;
    let cookie = cookie::write(&state.public_url, &id, Session::LIFETIME.as_secs());
    Ok(HttpResponse::Created()
        .insert_header((header::SET_COOKIE, cookie))
        .json(view(state, who)?))
}

fn view(state: &AppState, who: &Who) -> Result<Value, Problem> {
    let common = json!({
        "currency": state.config.billing.currency,
        "public_url": state.public_url,
        "demo_models": state.config.demo_models(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let own = match who {
        Who::Operator => {
            let first = state.store.accounts(1, None)?.items.into_iter().next();
            json!({
                "kind": "operator",
                "account_id": first.as_ref().map(|it| it.id.to_string()),
                "account_name": first.map(|it| it.name),
            })
        }
        Who::Person(person) => {
            let account = state.store.account(person.account)?;
            json!({
                "kind": "person",
                "email": person.email.as_str(),
                "role": person.role.word(),
                "account_id": person.account.to_string(),
                "account_name": account.map(|it| it.name),
            })
        }
    };
    let mut all = common;
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    Ok(all)
}

/// `GET /session`: who has signed in.
pub async fn show(visitor: SignedIn, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(view(&state, &visitor.who)?))
}

/// A line of the audit log about somebody's own sessions.
fn line(state: &AppState, request: &HttpRequest, visitor: &SignedIn, action: Action) -> AuditEntry {
    let actor = match &visitor.who {
        Who::Operator => Actor::Operator,
        Who::Person(person) => Actor::Person(person.id.0),
    };
    let author = audit_context::of(actor, request, state);
    author.line(state, action, subject(&visitor.session.visitor))
}

/// `DELETE /session`: signs out.
pub async fn sign_out(
    visitor: SignedIn,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let turn = state.people.take().await;
    let mut writes = state.store.remove_session(&visitor.id);
    let began = json!({"created_at": visitor.session.created_at.to_string()});
    let line = line(&state, &request, &visitor, Action::SessionEnd);
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, Some(began), None)),
    );
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(gone(&state))
}

/// `DELETE /sessions`: signs out everywhere.
pub async fn sign_out_everywhere(
    visitor: SignedIn,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let turn = state.people.take().await;
    let (mut writes, current) = match &visitor.who {
        Who::Operator => {
            let Generation(current) = state.store.operator_generation()?;
            let next = Generation(current.wrapping_add(1));
            (state.store.set_operator_generation(next), current)
        }
        Who::Person(person) => {
            // Once more: something of the person may have changed since the session was looked at.
            let found = state.store.person(person.account, person.id)?;
            let person = found.ok_or_else(wrong)?;
            let current = person.generation;
            let writes = state.store.put_person(&people::signed_out(person));
            (writes, current)
        }
    };
    writes.extend(state.store.remove_session(&visitor.id));
    let line = line(&state, &request, &visitor, Action::SessionEndAll);
    let [before, after] = [current, current.wrapping_add(1)].map(|it| json!({"generation": it}));
    let line = to_audit_entry(line, Some(before), Some(after));
    writes.push(state.store.add_audit(&line));
    state.commit(Change::in_turn(turn, writes)).await?;
    Ok(gone(&state))
}

/// `POST /session/password`: chooses another password, which ends all other sessions.
pub async fn change_password(
    visitor: SignedIn,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let Who::Person(person) = visitor.who else {
        let detail = "the operator has a token, no password; it is set in the configuration";
        return Err(Problem::new(Code::Forbidden, detail));
    };
    let names = ["current_password", "password"];
    let [current, password] = form::strings(names, &request, payload, &state).await?;
    passwords::check(&password).map_err(|fault| Problem::field("password", fault))?;
    let email = Some(person.email.as_str());
    let attempt = panel.attempts.begin(&request, &state, email)?;
    let kept = person.password.clone();
    let is_right = current.chars().count() <= passwords::MAX_CHARS
        && panel.passwords.verify(current, kept.clone()).await?;
    if !is_right {
        return Err(Problem::field("current_password", "is wrong"));
    }
    attempt.succeeded();
    let hash = panel.passwords.hash(password).await?;
    let turn = state.people.take().await;
    let found = state.store.person(person.account, person.id)?;
    let before = found.filter(|it| it.password == kept).ok_or_else(wrong)?;
    let person = before.clone().with_password(hash);
    let author = audit_context::of(Actor::Person(person.id.0), &request, &state);
    let line = people::entry(&state, &author, Action::PersonChangePassword, &person);
    let [before, after] = [&before, &person].map(people::facts);
    let mut writes = state.store.put_person(&person);
    writes.push(
        state
            .store
            .add_audit(&to_audit_entry(line, Some(before), Some(after))),
    );
    let visitor = Visitor::Person(person.account, person.id);
    let who = Who::Person(person);
    begin(&state, turn, visitor, &who, None, writes).await
}

fn gone(state: &AppState) -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((header::SET_COOKIE, cookie::write(&state.public_url, "", 0)))
        .finish()
}
