//! What only the operator sees: all accounts, money coming in, switches, the state of the service, settings in effect.

use super::Panel;
use super::guard::{OfAccount, OperatorHere};
use super::service;
use crate::api::account::{AccountView, NewAccount, NewDeposit, read_change};
use crate::api::pause::{read, view};
use crate::api::transaction::EntryView;
use crate::application::pause::{self, Unnamed};
use crate::application::state::AppState;
use crate::application::{accounts, deposits};
use crate::management::jobs;
use crate::web::body;
use crate::web::idempotency_key::{self, REPLAYED};
use crate::web::paging::{self, Listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::json;

type Answer = Result<HttpResponse, Problem>;

pub async fn list_accounts(_: OperatorHere, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let page = state.store.accounts(window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(Listing::new(page, AccountView::from)))
}

pub async fn open_account(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let new = NewAccount::read(&body, idempotency_key::key(request.headers()))?;
    let (balances, key) = (new.balances, new.idempotency_key);
    let opened = accounts::open(&state, &here.context, new.name, new.balance, balances, key);
    let opened = opened.await?;
    let mut answer = HttpResponse::Created();
    if opened.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(AccountView::from(opened.account)))
}

pub async fn change_account(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let change = read_change(&body)?;
    let account = accounts::change(&state, &here.context, of.account.id, change).await?;
    Ok(HttpResponse::Ok().json(AccountView::from(account)))
}

pub async fn deposit(
    here: OperatorHere,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let new = NewDeposit::read(&body, idempotency_key::key(request.headers()))?;
    let (account, key) = (of.account.id, new.idempotency_key);
    let context = &here.context;
    let made = deposits::deposit(&state, context, account, new.amount, new.reference, key);
    let made = made.await?;
    let mut answer = HttpResponse::Created();
    if made.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(EntryView::from(made.entry)))
}

pub async fn list_jobs(_: OperatorHere, request: HttpRequest, state: Data<AppState>) -> Answer {
    jobs::list(&request, &state).await
}

pub async fn show_stats(_: OperatorHere, state: Data<AppState>, panel: Data<Panel>) -> Answer {
    Ok(HttpResponse::Ok().json(service::figures(state, panel).await?))
}

pub async fn show_pause(_: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(view(&state.pause.read())))
}

pub async fn set_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let pause = pause::change(&state, &here.context, read(&body)?, Unnamed::Resume).await?;
    Ok(HttpResponse::Ok().json(view(&pause)))
}

pub async fn change_pause(
    here: OperatorHere,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let pause = pause::change(&state, &here.context, read(&body)?, Unnamed::Keep).await?;
    Ok(HttpResponse::Ok().json(view(&pause)))
}

/// The effective configuration, secrets masked: what `check-config` prints.
pub async fn settings(_: OperatorHere, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(json!({"toml": state.config.render()})))
}
