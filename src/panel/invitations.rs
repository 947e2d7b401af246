//! Invitations: the one-time link with which a person chooses a password.

use super::{form, sessions};
use crate::application::services::AccountService;
use crate::application::{invitations, passwords};
use crate::web::audit_context;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

/// `POST /invitation`: shows the invited person. The token is in the body to stay out of logs.
pub async fn show(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let [token] = form::strings(["token"], &request, payload, &accounts.settings).await?;
    let origin = audit_context::origin(&request, &accounts);
    let person = invitations::resolve(&accounts, &origin, &token).await?;
    let account = accounts.core.store.account(person.account).await?;
    Ok(HttpResponse::Ok().json(json!({
        "email": person.email.as_str(),
        "role": person.role.word(),
        "account_name": account.map(|it| it.name),
        "min_chars": passwords::MIN_CHARS,
    })))
}

/// `POST /invitation/accept`: sets the password and signs in.
pub async fn accept(
    request: HttpRequest,
    payload: web::Payload,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let names = ["token", "password"];
    let [token, password] = form::strings(names, &request, payload, &accounts.settings).await?;
    let origin = audit_context::origin(&request, &accounts);
    let session = invitations::accept(&accounts, &origin, &token, password).await?;
    sessions::signed_in(&accounts.core, &accounts.settings, session)
}
