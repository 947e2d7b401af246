//! Sign-in, sign-out, passwords, and the invitations with which people choose them.

use super::guard::SignedIn;
use super::{cookie, form};
use crate::application::core::Core;
use crate::application::core::call_origin::CallOrigin;
use crate::application::credentials::passwords;
use crate::application::people::sessions::{self, NewSession, User};
use crate::application::people::{invitation_links, password_change, sign_in};
use crate::application::services::AccountService;
use crate::application::settings::Settings;
use crate::web::auth::audit_context;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::{Value, json};
use tintype_api::Rate;
use tintype_storage::domain::person::Session;
use tintype_storage::engine::Direction;
use tintype_storage::store::All;
use tintype_storage::store::tables::PEOPLE;

/// Fits the longest email address and two of the longest passwords with every character escaped.
const MAX_BYTES: usize = 8 << 10;

/// The fields of a call, and its origin for the audit log.
async fn read<const N: usize>(
    names: [&'static str; N],
    request: &HttpRequest,
    payload: web::Payload,
    accounts: &AccountService,
) -> Result<([String; N], CallOrigin), Problem> {
    let fields = form::strings(MAX_BYTES, names, request, payload, &accounts.settings).await?;
    Ok((fields, audit_context::origin(request, accounts)))
}

/// Signs in with the operator token.
pub async fn sign_in_operator(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let ([token], origin) = read(["token"], &request, payload, &accounts).await?;
    let session = sign_in::sign_in_operator(&accounts, &origin, &token).await?;
    signed_in(&accounts, session).await
}

/// Signs in with email address and password.
pub async fn sign_in(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let ([email, password], origin) =
        read(["email", "password"], &request, payload, &accounts).await?;
    let session = sign_in::sign_in_person(&accounts, &origin, &email, password).await?;
    signed_in(&accounts, session).await
}

/// Responds with the session and its cookie.
async fn signed_in(accounts: &AccountService, session: NewSession) -> HttpResult {
    let AccountService { core, settings, .. } = accounts;
    let lifetime = Session::LIFETIME.as_secs();
    let cookie = cookie::write(&settings.public_url, &session.id, lifetime);
    Ok(HttpResponse::Created()
        .insert_header((header::SET_COOKIE, cookie))
        .json(view(core, settings, &session.user).await?))
}

async fn view(core: &Core, settings: &Settings, user: &User) -> Result<Value, Problem> {
    let mut all = json!({
        "currency": settings.config.billing.currency,
        "public_url": settings.public_url,
        "demo_models": settings.config.demo_models(),
        "default_rates": {
            "all": settings.config.limits.key_rate().map(Rate::from),
            "fetches": settings.config.limits.fetch_rate().map(Rate::from),
        },
        "version": env!("CARGO_PKG_VERSION"),
    });
    let own = match user {
        User::Operator => {
            let first = core.store.accounts(1, None).await?.items.into_iter().next();
            json!({
                "kind": "operator",
                "account_id": first.as_ref().map(|it| it.id.to_string()),
                "account_name": first.map(|it| it.name),
            })
        }
        User::Person(person) => {
            let account = core.store.account(person.account).await?;
            json!({
                "kind": "person",
                "person_id": person.id.to_string(),
                "email": person.email.as_str(),
                "role": person.role.as_str(),
                "account_id": person.account.to_string(),
                "account_active": account.as_ref().is_some_and(|it| it.active),
                "account_name": account.map(|it| it.name),
            })
        }
    };
    if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    Ok(all)
}

/// What the sign-in page asks for first. While a service has no people, only the operator signs in.
pub async fn sign_in_options(core: web::Data<Core>) -> HttpResult {
    // Invited people count.
    let first = PEOPLE.first(&core.store, &All, Direction::Rising).await?;
    Ok(HttpResponse::Ok().json(json!({"has_people": first.is_some()})))
}

/// The signed-in visitor.
pub async fn show(
    visitor: SignedIn,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    Ok(HttpResponse::Ok().json(view(&core, &settings, &visitor.user).await?))
}

pub async fn sign_out(
    visitor: SignedIn,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let context = audit_context::from_request(visitor.user.actor(), &request, &accounts);
    sessions::end(&accounts.core, &context, &visitor).await?;
    Ok(signed_out(&accounts.settings))
}

pub async fn sign_out_everywhere(
    visitor: SignedIn,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let context = audit_context::from_request(visitor.user.actor(), &request, &accounts);
    sessions::end_all(&accounts.core, &context, &visitor).await?;
    Ok(signed_out(&accounts.settings))
}

/// Changes the password and ends all other sessions.
pub async fn change_password(
    visitor: SignedIn,
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let User::Person(person) = visitor.user else {
        let detail = "the operator has no password; the operator token is set in the configuration";
        return Err(Problem::new(Code::Forbidden, detail));
    };
    let ([current, password], origin) = read(
        ["current_password", "password"],
        &request,
        payload,
        &accounts,
    )
    .await?;
    let changed = password_change::change_password(&accounts, &origin, person, current, password);
    signed_in(&accounts, changed.await?).await
}

fn signed_out(settings: &Settings) -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((
            header::SET_COOKIE,
            cookie::write(&settings.public_url, "", 0),
        ))
        .finish()
}

/// Shows the invited person. The token is in the body to stay out of logs.
pub async fn show_invitation(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let ([token], origin) = read(["token"], &request, payload, &accounts).await?;
    let person = invitation_links::invited_person(&accounts, &origin, &token).await?;
    let account = accounts.core.store.account(person.account).await?;
    Ok(HttpResponse::Ok().json(json!({
        "email": person.email.as_str(),
        "role": person.role.as_str(),
        "account_name": account.map(|it| it.name),
        "min_chars": passwords::MIN_CHARS,
    })))
}

/// Sets the password and signs in.
pub async fn accept_invitation(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let ([token, password], origin) =
        read(["token", "password"], &request, payload, &accounts).await?;
    let session = invitation_links::accept_invitation(&accounts, &origin, &token, password).await?;
    signed_in(&accounts, session).await
}
