//! Opens, lists and changes accounts, and lists their ledgers.

use crate::api::answers;
use crate::api::requests::{read, read_once};
use crate::application::accounts;
use crate::application::ledger;
use crate::application::state::AppState;
use crate::web::access::{OfAccount, OfOperator, OperatorCall};
use crate::web::body;
use crate::web::idempotency_key::{self, created};
use crate::web::ledger_query;
use crate::web::paging::{self, listing, try_listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{NewAccount, Transaction};

type HttpResult = Result<HttpResponse, Problem>;

/// `POST /accounts`
pub async fn open(
    OperatorCall(caller): OperatorCall,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key): (NewAccount, _) = read_once(&body, idempotency_key::key(request.headers()))?;
    let opened = accounts::open(&state, &caller, new.into(), key).await?;
    let account = answers::account(&state, opened.account)?;
    Ok(created(opened.is_replay).json(account))
}

/// `GET /accounts`
pub async fn list(_: OperatorCall, request: HttpRequest, state: Data<AppState>) -> HttpResult {
    let window = paging::window(&request)?;
    let page = state.store.accounts(window.limit, window.after).await?;
    let view = |account| answers::account(&state, account);
    Ok(HttpResponse::Ok().json(try_listing(page, view)?))
}

/// `GET /accounts/{account_id}`
pub async fn show(of: OfAccount, state: Data<AppState>) -> HttpResult {
    Ok(HttpResponse::Ok().json(answers::account(&state, of.account)?))
}

/// `PATCH /accounts/{account_id}`
pub async fn change(
    OfOperator { caller, named: of }: OfOperator<OfAccount>,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> HttpResult {
    let body = body::read_json(&request, payload, &state).await?;
    let account = accounts::change(&state, &caller, of.account.id, read(&body)?).await?;
    Ok(HttpResponse::Ok().json(answers::account(&state, account)?))
}

/// `GET /accounts/{account_id}/transactions`
pub async fn transactions(
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> HttpResult {
    let (window, filter) = ledger_query::of(&request)?;
    let page = ledger::page(&state, of.account.id, window, filter).await?;
    Ok(HttpResponse::Ok().json(listing(page, Transaction::from)))
}
