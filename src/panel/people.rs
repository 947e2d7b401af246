//! People of an account as its pages see them: listed for its own, and for the operator all that the operator interface does.

use super::guard::{OfAccount, OperatorHere};
use crate::api::answers;
use crate::api::requests::{read, read_optional};
use crate::application::people;
use crate::application::state::AppState;
use crate::web::body;
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{InviteAgain, InvitePerson, PersonChange};
use tintype_storage::domain::person::PersonId;

type Answer = Result<HttpResponse, Problem>;

pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store.people_of(of.account.id, window.limit, window.after)?;
    let view = |person| answers::person(&state, &person, None);
    Ok(HttpResponse::Ok().json(listing(page, view)))
}

pub async fn invite(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let InvitePerson { email, role } = read(&body)?;
    let invited = people::invite(&state, &here.context, of.account.id, email, role).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Created().json(view))
}

pub async fn invite_again(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let (account, id) = (of.account.id, id_of(&of, &request)?);
    people::find(&state, account, id)?;
    let body = body::read_optional_json(&request, payload, &state).await?;
    let again: InviteAgain = read_optional(body.as_deref())?;
    let revoke = again.revoke.unwrap_or(false);
    let invited = people::invite_again(&state, &here.context, account, id, revoke).await?;
    let view = answers::person(&state, &invited.person, Some(&invited.token));
    Ok(HttpResponse::Ok().json(view))
}

pub async fn change(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let (account, id) = (of.account.id, id_of(&of, &request)?);
    people::find(&state, account, id)?;
    let body = body::read_json(&request, payload, &state).await?;
    let PersonChange { role } = read(&body)?;
    let person = people::change_role(&state, &here.context, account, id, role).await?;
    Ok(HttpResponse::Ok().json(answers::person(&state, &person, None)))
}

pub async fn remove(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> Answer {
    let id = id_of(&of, &request)?;
    people::remove(&state, &here.context, of.account.id, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn sign_out(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> Answer {
    let id = id_of(&of, &request)?;
    people::sign_out(&state, &here.context, of.account.id, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Whom of the account the path names.
fn id_of(of: &OfAccount, request: &HttpRequest) -> Result<PersonId, Problem> {
    let id = of.part(request, "person_id").parse();
    Ok(id.map_err(|_| people::no_person())?)
}
