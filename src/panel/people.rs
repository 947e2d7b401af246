//! People of an account as its pages see them: listed for its own, and for the operator all that the operator interface does.

use super::guard::{OfAccount, OperatorHere};
use crate::api::person::{PersonView, read_again, read_change, read_new};
use crate::application::people;
use crate::application::state::AppState;
use crate::web::body;
use crate::web::paging::{self, Listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_storage::domain::person::PersonId;

type Answer = Result<HttpResponse, Problem>;

pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let store = &state.store;
    let page = store.people_of(of.account.id, window.limit, window.after)?;
    let view = |person| PersonView::new(&state, &person, None);
    Ok(HttpResponse::Ok().json(Listing::new(page, view)))
}

pub async fn invite(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let (email, role) = read_new(&body)?;
    let invited = people::invite(&state, &here.context, of.account.id, email, role).await?;
    let view = PersonView::new(&state, &invited.person, Some(&invited.token));
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
    let revoke = read_again(body.as_deref())?;
    let invited = people::invite_again(&state, &here.context, account, id, revoke).await?;
    let view = PersonView::new(&state, &invited.person, Some(&invited.token));
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
    let role = read_change(&body)?;
    let person = people::change_role(&state, &here.context, account, id, role).await?;
    Ok(HttpResponse::Ok().json(PersonView::new(&state, &person, None)))
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
