//! Invites, changes, signs out and removes the people of an account, who sign in to the panel.

use crate::api::answers;
use crate::api::requests::{read, read_optional};
use crate::application::people;
use crate::application::state::AppState;
use crate::web::access::{OfAccount, OfOperator, OfPerson};
use crate::web::body;
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{InviteAgain, InvitePerson, PersonChange};

type HttpResult = Result<HttpResponse, Problem>;

/// `GET /accounts/{account_id}/people`
pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> HttpResult {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store
        .people_of(of.account.id, window.limit, window.after)
        .await?;
    let view = |person| answers::person(&state, &person, None);
    Ok(HttpResponse::Ok().json(listing(page, view)))
}

/// `GET /accounts/{account_id}/people/{person_id}`
pub async fn show(OfPerson(person): OfPerson, state: Data<AppState>) -> HttpResult {
    Ok(HttpResponse::Ok().json(answers::person(&state, &person, None)))
}

/// `POST /accounts/{account_id}/people`
pub async fn invite(
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let InvitePerson { email, role } = read(&body)?;
    let invited = people::invite(&state, &of.caller, of.account.id, email, role).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Created().json(view))
}

/// `POST /accounts/{account_id}/people/{person_id}/invitation`: issues a new link with which a person chooses a password. `revoke` also
/// invalidates their password and sessions at once.
pub async fn invite_again(
    of: OfAccount,
    OfPerson(person): OfPerson,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_optional_json(&request, payload, &state).await?;
    let again: InviteAgain = read_optional(body.as_deref())?;
    let (account, id) = (person.account, person.id);
    let revoke = again.revoke.unwrap_or(false);
    let invited = people::invite_again(&state, &of.caller, account, id, revoke).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Ok().json(view))
}

/// `PATCH /accounts/{account_id}/people/{person_id}`
pub async fn change(
    OfOperator {
        caller,
        named: OfPerson(person),
    }: OfOperator<OfPerson>,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let PersonChange { role } = read(&body)?;
    let (account, id) = (person.account, person.id);
    let person = people::change_role(&state, &caller, account, id, role).await?;
    Ok(HttpResponse::Ok().json(answers::person(&state, &person, None)))
}

/// `DELETE /accounts/{account_id}/people/{person_id}`: also ends their sessions at once.
pub async fn remove(
    of: OfAccount,
    OfPerson(person): OfPerson,
    state: Data<AppState>,
) -> HttpResult {
    people::remove(&state, &of.caller, person.account, person.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /accounts/{account_id}/people/{person_id}/sessions`: ends all sessions of a person, who can sign in again.
pub async fn sign_out(
    OfOperator {
        caller,
        named: OfPerson(person),
    }: OfOperator<OfPerson>,
    state: Data<AppState>,
) -> HttpResult {
    people::sign_out(&state, &caller, person.account, person.id).await?;
    Ok(HttpResponse::NoContent().finish())
}
