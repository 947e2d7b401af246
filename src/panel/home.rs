//! What only the operator sees: all accounts, money coming in, switches, the state of the service, settings in effect.

use super::Panel;
use super::guard::{OfAccount, OperatorHere};
use super::service;
use crate::api::requests::{read, read_once};
use crate::application::state::AppState;
use crate::application::{accounts, deposits, pause};
use crate::management::jobs;
use crate::web::body;
use crate::web::idempotency_key::{self, REPLAYED};
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;
use tintype_api::{Switches, Transaction};
use tintype_storage::domain::pause::Unnamed;

type Answer = Result<HttpResponse, Problem>;

pub async fn list_accounts(_: OperatorHere, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let page = state.store.accounts(window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::Account::from)))
}

pub async fn open_account(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let opened = accounts::open(&state, &here.context, new, key).await?;
    let mut answer = HttpResponse::Created();
    if opened.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(tintype_api::Account::from(opened.account)))
}

pub async fn change_account(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let change = read(&body)?;
    let account = accounts::change(&state, &here.context, of.account.id, change).await?;
    Ok(HttpResponse::Ok().json(tintype_api::Account::from(account)))
}

pub async fn deposit(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let made = deposits::deposit(&state, &here.context, of.account.id, new, key).await?;
    let mut answer = HttpResponse::Created();
    if made.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(Transaction::from(made.entry)))
}

pub async fn list_jobs(_: OperatorHere, request: HttpRequest, state: Data<AppState>) -> Answer {
    jobs::list(&request, &state).await
}

pub async fn show_stats(_: OperatorHere, state: Data<AppState>, panel: Data<Panel>) -> Answer {
    Ok(HttpResponse::Ok().json(service::figures(state, panel).await?))
}

pub async fn show_pause(_: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(Switches::from(&*state.pause.read())))
}

pub async fn set_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let pause = pause::change(&state, &here.context, read(&body)?, Unnamed::Resume).await?;
    Ok(HttpResponse::Ok().json(Switches::from(&pause)))
}

pub async fn change_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let pause = pause::change(&state, &here.context, read(&body)?, Unnamed::Keep).await?;
    Ok(HttpResponse::Ok().json(Switches::from(&pause)))
}

/// The effective configuration, secrets masked: what `check-config` prints.
pub async fn settings(_: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(json!({"toml": state.config.render()})))
}
