//! What only the operator sees: all accounts, money coming in, switches, the state of the service, settings in effect.

use super::Panel;
use super::guard::OperatorHere;
use super::service;
use crate::application::state::AppState;
use crate::http::admin::{accounts, deposits, jobs, pause};
use crate::web::problem::Problem;
use actix_web::web::{Data, Path, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

type Answer = Result<HttpResponse, Problem>;

pub async fn list_accounts(
    here: OperatorHere,
    request: HttpRequest,
    state: Data<AppState>,
) -> Answer {
    accounts::list(here.operator(), request, state).await
}

pub async fn open_account(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    accounts::open(here.operator(), request, payload, state).await
}

pub async fn change_account(
    here: OperatorHere,
    path: Path<String>,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    accounts::change(here.operator(), path, request, payload, state).await
}

pub async fn deposit(
    here: OperatorHere,
    path: Path<String>,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    deposits::create(here.operator(), path, request, payload, state).await
}

pub async fn list_jobs(here: OperatorHere, request: HttpRequest, state: Data<AppState>) -> Answer {
    jobs::list(here.operator(), request, state).await
}

pub async fn show_stats(_: OperatorHere, state: Data<AppState>, panel: Data<Panel>) -> Answer {
    Ok(HttpResponse::Ok().json(service::figures(state, panel).await?))
}

pub async fn show_pause(here: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(pause::show(here.operator(), state).await)
}

pub async fn set_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    pause::set(here.operator(), request, payload, state).await
}

pub async fn change_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    pause::change(here.operator(), request, payload, state).await
}

/// The effective configuration, secrets masked: what `check-config` prints.
pub async fn settings(_: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(json!({"toml": state.config.render()})))
}
