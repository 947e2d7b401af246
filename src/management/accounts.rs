//! Accounts: opened, listed, changed; and their ledgers.

use crate::api::requests::{read, read_once};
use crate::application::accounts;
use crate::application::ledger;
use crate::application::state::AppState;
use crate::web::access::{OfAccount, OperatorCall};
use crate::web::body;
use crate::web::idempotency_key::{self, created};
use crate::web::ledger_query;
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{Account, Transaction};

type Answer = Result<HttpResponse, Problem>;

/// `POST /accounts`
pub async fn open(
    OperatorCall(caller): OperatorCall,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let opened = accounts::open(&state, &caller, new, key).await?;
    Ok(created(opened.is_replay).json(Account::from(opened.account)))
}

/// `GET /accounts`
pub async fn list(_: OperatorCall, request: HttpRequest, state: Data<AppState>) -> Answer {
    let window = paging::window(&request)?;
    let page = state.store.accounts(window.limit, window.after).await?;
    Ok(HttpResponse::Ok().json(listing(page, Account::from)))
}

/// `GET /accounts/{account_id}`
pub async fn show(of: OfAccount) -> Answer {
    Ok(HttpResponse::Ok().json(Account::from(of.account)))
}

/// `PATCH /accounts/{account_id}`: another name, or switched off or on.
pub async fn change(
    OperatorCall(caller): OperatorCall,
    of: OfAccount,
    request: HttpRequest,
    payload: Payload,
    state: Data<AppState>,
) -> Answer {
    let body = body::read_json(&request, payload, &state).await?;
    let account = accounts::change(&state, &caller, of.account.id, read(&body)?).await?;
    Ok(HttpResponse::Ok().json(Account::from(account)))
}

/// `GET /accounts/{account_id}/transactions`
pub async fn transactions(of: OfAccount, request: HttpRequest, state: Data<AppState>) -> Answer {
    let (window, filter) = ledger_query::of(&request)?;
    let page = ledger::page(&state, of.account.id, window, filter).await?;
    Ok(HttpResponse::Ok().json(listing(page, Transaction::from)))
}
