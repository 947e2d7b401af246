//! People of an account as its pages see them: listed for its own, and for the operator all that the operator interface does.

use super::guard::{OfAccount, OperatorHere};
use crate::application::state::AppState;
use crate::http::admin::people::{self, Place};
use crate::web::problem::Problem;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};

type Answer = Result<HttpResponse, Problem>;

pub async fn list(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    people::list(of.operator(), of.path(), request, state).await
}

pub async fn invite(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    people::invite(here.operator(), of.path(), request, payload, state).await
}

pub async fn invite_again(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let place = place(&of, &request);
    people::invite_again(here.operator(), place, request, payload, state).await
}

pub async fn change(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let place = place(&of, &request);
    people::change(here.operator(), place, request, payload, state).await
}

pub async fn remove(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> Answer {
    people::remove(here.operator(), place(&of, &request), state).await
}

pub async fn sign_out(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> Answer {
    people::sign_out(here.operator(), place(&of, &request), state).await
}

/// The account that the guard has let through, and whom of it the path names.
fn place(of: &OfAccount, request: &HttpRequest) -> Place {
    Path::from((of.account.id.to_string(), of.part(request, "person_id")))
}
