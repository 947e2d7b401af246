//! Sign-in, sign-out and passwords.

use super::guard::SignedIn;
use super::{cookie, form};
use crate::application::sessions::{self, NewSession, User};
use crate::application::sign_in;
use crate::application::state::AppState;
use crate::web::audit_context;
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_storage::domain::person::Session;
use tintype_storage::engine::Wait as _;

/// `POST /session/operator`: signs in with the admin token.
pub async fn sign_in_operator(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let [token] = form::strings(["token"], &request, payload, &state).await?;
    let origin = audit_context::origin(&request, &state);
    signed_in(&state, sign_in::operator(&state, &origin, &token).await?)
}

/// `POST /session`: signs in with e-mail address and password.
pub async fn sign_in(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let names = ["email", "password"];
    let [email, password] = form::strings(names, &request, payload, &state).await?;
    let origin = audit_context::origin(&request, &state);
    let session = sign_in::person(&state, &origin, &email, password).await?;
    signed_in(&state, session)
}

/// Answers with the session and its cookie.
pub fn signed_in(state: &AppState, session: NewSession) -> Result<HttpResponse, Problem> {
    let lifetime = Session::LIFETIME.as_secs();
    let cookie = cookie::write(&state.public_url, &session.id, lifetime);
    Ok(HttpResponse::Created()
        .insert_header((header::SET_COOKIE, cookie))
        .json(view(state, &session.user)?))
}

fn view(state: &AppState, user: &User) -> Result<Value, Problem> {
    let mut all = json!({
        "currency": state.config.billing.currency,
        "public_url": state.public_url,
        "demo_models": state.config.demo_models(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let own = match user {
        User::Operator => {
            let first = state
                .store
                .accounts(1, None)
                .wait()?
                .items
                .into_iter()
                .next();
            json!({
                "kind": "operator",
                "account_id": first.as_ref().map(|it| it.id.to_string()),
                "account_name": first.map(|it| it.name),
            })
        }
        User::Person(person) => {
            let account = state.store.account(person.account).wait()?;
            json!({
                "kind": "person",
                "email": person.email.as_str(),
                "role": person.role.word(),
                "account_id": person.account.to_string(),
                "account_name": account.map(|it| it.name),
            })
        }
    };
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    Ok(all)
}

/// `GET /session`: the signed-in visitor.
pub async fn show(visitor: SignedIn, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(view(&state, &visitor.user)?))
}

/// `DELETE /session`.
pub async fn sign_out(
    visitor: SignedIn,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let context = audit_context::of(visitor.user.actor(), &request, &state);
    sessions::end(&state, &context, &visitor).await?;
    Ok(signed_out(&state))
}

/// `DELETE /sessions`.
pub async fn sign_out_everywhere(
    visitor: SignedIn,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let context = audit_context::of(visitor.user.actor(), &request, &state);
    sessions::end_all(&state, &context, &visitor).await?;
    Ok(signed_out(&state))
}

/// `POST /session/password`: changes the password and ends all other sessions.
pub async fn change_password(
    visitor: SignedIn,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let User::Person(person) = visitor.user else {
        let detail = "the operator has no password; the admin token is set in the configuration";
        return Err(Problem::new(Code::Forbidden, detail));
    };
    let names = ["current_password", "password"];
    let [current, password] = form::strings(names, &request, payload, &state).await?;
    let origin = audit_context::origin(&request, &state);
    let changed = sign_in::change_password(&state, &origin, person, current, password);
    signed_in(&state, changed.await?)
}

fn signed_out(state: &AppState) -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((header::SET_COOKIE, cookie::write(&state.public_url, "", 0)))
        .finish()
}
