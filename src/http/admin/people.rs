//! People of an account, who sign in to the panel: invited, changed, signed out and removed.

use super::accounts;
use crate::api::answers;
use crate::api::requests::{read, read_optional};
use crate::application::people;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_api::{InviteAgain, InvitePerson, PersonChange};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::person::PersonId;

/// The account and the person of a path.
type Place = web::Path<(String, String)>;

/// `GET /accounts/{account_id}/people`
pub async fn list(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = accounts::find(&state, &path)?;
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store.people_of(account.id, window.limit, window.after)?;
    let view = |person| answers::person(&state, &person, None);
    Ok(HttpResponse::Ok().json(listing(page, view)))
}

/// `GET /accounts/{account_id}/people/{person_id}`
pub async fn show(
    _: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (account, id) = ids_of(&state, &path)?;
    let person = people::find(&state, account, id)?;
    Ok(HttpResponse::Ok().json(answers::person(&state, &person, None)))
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
    let InvitePerson { email, role } = read(&body)?;
    let invited = people::invite(&state, &operator.author, account.id, email, role).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Created().json(view))
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
    let (account, id) = ids_of(&state, &path)?;
    people::find(&state, account, id)?;
    let body = body::read_optional_json(&request, payload, &state).await?;
    let again: InviteAgain = read_optional(body.as_deref())?;
    let revoke = again.revoke.unwrap_or(false);
    let context = &operator.author;
    let invited = people::invite_again(&state, context, account, id, revoke).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Ok().json(view))
}

/// `PATCH /accounts/{account_id}/people/{person_id}`
pub async fn change(
    operator: Operator,
    path: Place,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (account, id) = ids_of(&state, &path)?;
    people::find(&state, account, id)?;
    let body = body::read_json(&request, payload, &state).await?;
    let PersonChange { role } = read(&body)?;
    let person = people::change_role(&state, &operator.author, account, id, role).await?;
    Ok(HttpResponse::Ok().json(answers::person(&state, &person, None)))
}

/// `DELETE /accounts/{account_id}/people/{person_id}`: their sessions are over at once.
pub async fn remove(
    operator: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (account, id) = ids_of(&state, &path)?;
    people::remove(&state, &operator.author, account, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `DELETE /accounts/{account_id}/people/{person_id}/sessions`: signs somebody out wherever they are. They can sign in again.
pub async fn sign_out(
    operator: Operator,
    path: Place,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (account, id) = ids_of(&state, &path)?;
    people::sign_out(&state, &operator.author, account, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

fn ids_of(state: &AppState, path: &(String, String)) -> Result<(AccountId, PersonId), Problem> {
    let account = accounts::find(state, &path.0)?.id;
    let id = path.1.parse().map_err(|_| people::no_person())?;
    Ok((account, id))
}
