//! Accounts: opened, listed, changed; and their ledgers.

use crate::api::requests::{read, read_once};
use crate::application::accounts;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::idempotency_key::{self, REPLAYED};
use crate::web::paging::{self, listing};
use crate::web::problem::Problem;
use crate::web::transaction_list;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::account::Account;

/// The account of a path; an unknown one and no id at all are both 404.
pub fn find(state: &AppState, id: &str) -> Result<Account, Problem> {
    let id = id.parse().map_err(|_| accounts::no_account())?;
    Ok(accounts::find(state, id)?)
}

/// `POST /accounts`
pub async fn open(
    operator: Operator,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let opened = accounts::open(&state, &operator.author, new, key).await?;
    let mut answer = HttpResponse::Created();
    if opened.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(tintype_api::Account::from(opened.account)))
}

/// `GET /accounts`
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = paging::window(&request)?;
    let page = state.store.accounts(window.limit, window.after)?;
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::Account::from)))
}

/// `GET /accounts/{account_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(tintype_api::Account::from(find(&state, &path)?)))
}

/// `PATCH /accounts/{account_id}`: another name, or switched off or on.
pub async fn change(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let change = read(&body)?;
    let account = accounts::change(&state, &operator.author, account.id, change).await?;
    Ok(HttpResponse::Ok().json(tintype_api::Account::from(account)))
}

/// `GET /accounts/{account_id}/transactions`
pub async fn transactions(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let page = transaction_list::page(&request, &state, account.id).await?;
    Ok(HttpResponse::Ok().json(listing(page, tintype_api::Transaction::from)))
}
