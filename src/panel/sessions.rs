//! Signing in and out.

use super::guard::{SignedIn, Who};
use super::{cookie, form, passwords, tokens};
use crate::http::problem::{Code, Problem};
use crate::http::state::AppState;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::person::{Digest32, Email, Person, Session, Visitor};
use tintype_storage::store::Generation;

/// Sessions looked at in one step of forgetting.
const STEP: usize = 1_000;

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
) -> Result<HttpResponse, Problem> {
    let [token] = form::strings(["token"], &request, payload, &state).await?;
    let attempt = state.panel.attempts.begin(&request, None, state.now())?;
    let shown = tokens::digest(token.trim().as_bytes());
    if shown.0 != state.admin_token {
        return Err(Problem::new(
            Code::Unauthorized,
            "the admin token is not valid; it is in the file admin-token of the data directory, unless the configuration sets it",
        ));
    }
    attempt.succeeded();
    let _changing = state.panel.changing.lock().await;
    let generation = state.store.operator_generation()?.0;
    begin(&state, Visitor::Operator(shown), generation, &Who::Operator).await
}

/// `POST /session`: signs in with e-mail address and password.
pub async fn sign_in(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let names = ["email", "password"];
    let [email, password] = form::strings(names, &request, payload, &state).await?;
    let email: Email = email.parse().map_err(|_| wrong())?;
    let now = state.now();
    let attempt = state
        .panel
        .attempts
        .begin(&request, Some(email.as_str()), now)?;
    if password.chars().count() > passwords::MAX_CHARS {
        return Err(wrong());
    }
    let person = state.store.person_by_email(&email)?;
    let hash = person.as_ref().and_then(|it| it.password.clone());
    if !state.panel.passwords.verify(password, hash.clone()).await? {
        return Err(wrong());
    }
    let _changing = state.panel.changing.lock().await;
    // Once more: the person may have been removed, or have another password, since it was looked at.
    let person = state.store.person_by_email(&email)?;
    let person = person.filter(|it| it.password == hash).ok_or_else(wrong)?;
    attempt.succeeded();
    begin_for(&state, person).await
}

/// Begins a session of a person. The caller holds `changing`.
pub async fn begin_for(state: &AppState, person: Person) -> Result<HttpResponse, Problem> {
    let visitor = Visitor::Person(person.account, person.id);
    let generation = person.generation;
    begin(state, visitor, generation, &Who::Person(person)).await
}

async fn begin(
    state: &AppState,
    visitor: Visitor,
    generation: u32,
    who: &Who,
) -> Result<HttpResponse, Problem> {
    let now = state.now();
    let session = Session {
        visitor,
        generation,
        created_at: now,
        seen_at: now,
    };
    let id = tokens::session_id();
    let digest = tokens::digest(id.as_bytes());
    state
        .commit(state.store.put_session(&digest, &session))
        .await?;
    let cookie = cookie::write(&state.public_url, &id, Session::LIFETIME.as_secs());
    Ok(HttpResponse::Created()
        .insert_header((header::SET_COOKIE, cookie))
        .json(view(state, who)?))
}

/// Writes down that a session is in use, unless it has ended meanwhile.
pub async fn record_use(state: web::Data<AppState>, id: Digest32) {
    let _changing = state.panel.changing.lock().await;
    let now = state.now();
    if let Ok(Some(session)) = state.store.session(&id)
        && session.is_alive(now)
    {
        let used = Session {
            seen_at: now,
            ..session
        };
        // A failure has ended the service by now.
        let _ = state.commit(state.store.put_session(&id, &used)).await;
    }
}

fn view(state: &AppState, who: &Who) -> Result<Value, Problem> {
    let common = json!({
        "currency": state.config.billing.currency,
        "public_url": state.public_url,
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

/// `DELETE /session`: signs out.
pub async fn sign_out(
    visitor: SignedIn,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    state
        .commit(state.store.remove_session(&visitor.id))
        .await?;
    Ok(gone(&state))
}

/// `DELETE /sessions`: signs out everywhere.
pub async fn sign_out_everywhere(
    visitor: SignedIn,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let _changing = state.panel.changing.lock().await;
    let mut writes = match visitor.who {
        Who::Operator => {
            let Generation(current) = state.store.operator_generation()?;
            let next = Generation(current.wrapping_add(1));
            state.store.set_operator_generation(next)
        }
        Who::Person(person) => match state.store.person(person.account, person.id)? {
            Some(person) => state.store.put_person(&Person {
                generation: person.generation.wrapping_add(1),
                ..person
            }),
            None => Vec::new(),
        },
    };
    writes.extend(state.store.remove_session(&visitor.id));
    state.commit(writes).await?;
    Ok(gone(&state))
}

/// `POST /session/password`: chooses another password, which ends all other sessions.
pub async fn change_password(
    visitor: SignedIn,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let Who::Person(person) = visitor.who else {
        let detail = "the operator has a token, no password; it is set in the configuration";
        return Err(Problem::new(Code::Forbidden, detail));
    };
    let names = ["current_password", "password"];
    let [current, password] = form::strings(names, &request, payload, &state).await?;
    passwords::check(&password).map_err(|fault| Problem::field("password", fault))?;
    let attempt = state
        .panel
        .attempts
        .begin(&request, Some(person.email.as_str()), state.now())?;
    let kept = person.password.clone();
    let is_right = current.chars().count() <= passwords::MAX_CHARS
        && state.panel.passwords.verify(current, kept.clone()).await?;
    if !is_right {
        return Err(Problem::field("current_password", "is wrong"));
    }
    attempt.succeeded();
    let hash = state.panel.passwords.hash(password).await?;
    let _changing = state.panel.changing.lock().await;
    let found = state.store.person(person.account, person.id)?;
    let person = found.filter(|it| it.password == kept).ok_or_else(wrong)?;
    let person = person.with_password(hash);
    state.commit(state.store.put_person(&person)).await?;
    begin_for(&state, person).await
}

fn gone(state: &AppState) -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((header::SET_COOKIE, cookie::write(&state.public_url, "", 0)))
        .finish()
}

/// Forgets sessions that are over. Called now and then.
pub async fn forget_old(state: &AppState) {
    let mut cursor = Vec::new();
    loop {
        let _changing = state.panel.changing.lock().await;
        match state.store.forget_sessions(state.now(), &cursor, STEP) {
            Ok((writes, next)) => {
                if !writes.is_empty() && state.commit(writes).await.is_err() {
                    return;
                }
                cursor = next;
            }
            Err(error) => {
                tracing::error!(%error, "old sessions could not be forgotten");
                return;
            }
        }
        if cursor.is_empty() {
            return;
        }
    }
}
