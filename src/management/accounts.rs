//! Opens, lists and changes accounts, deposits money into them, and lists their ledgers and batches.

use crate::api::requests::{read, read_once};
use crate::api::responses;
use crate::application::accounts;
use crate::application::accounts::account_list::{self, Sort};
use crate::application::accounts::deposits;
use crate::application::accounts::ledger;
use crate::application::core::Core;
use crate::application::erasure;
use crate::application::erasure::accounts::Cursor;
use crate::application::jobs::batches::page_of;
use crate::application::services::{AccountService, JobService};
use crate::web::auth::access::{OfAccount, OperatorCall, OperatorOnly, WithBody};
use crate::web::problem::HttpResult;
use crate::web::queries::ledger_query;
use crate::web::queries::paging::{self, to_page, to_page_async};
use crate::web::submissions::idempotency_key::{self, creation_response};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use tintype_api::{AccountErasure, NewAccount, Transaction};
use tintype_storage::domain::account::Account;

pub async fn open(
    WithBody(OperatorCall(caller), body): WithBody<OperatorCall>,
    request: HttpRequest,
    accounts: Data<AccountService>,
) -> HttpResult {
    let (new, key): (NewAccount, _) = read_once(&body, idempotency_key::key(request.headers()))?;
    let opened = accounts::open(&accounts, &caller, new.into(), key).await?;
    let account = responses::account(&accounts.core, opened.account).await?;
    Ok(creation_response(opened.is_replay).json(account))
}

pub async fn list(_: OperatorCall, request: HttpRequest, core: Data<Core>) -> HttpResult {
    let mut name = None;
    let window = paging::filtered_window(&request, &["name"], |_, value| {
        name = Some(value.to_owned());
        Ok(())
    })?;
    let page = match name {
        Some(name) => {
            let has_name = move |it: &Account| it.name == name;
            let found = account_list::find(&core, has_name, Sort::Oldest, window);
            found.await?.page
        }
        None => core.store.accounts(window.limit, window.after).await?,
    };
    let page = to_page_async(page, async |it| responses::account(&core, it).await);
    Ok(HttpResponse::Ok().json(page.await?))
}

pub async fn show(of: OfAccount, core: Data<Core>) -> HttpResult {
    Ok(HttpResponse::Ok().json(responses::account(&core, of.account).await?))
}

pub async fn erase(
    OperatorOnly { caller, named: of }: OperatorOnly<OfAccount>,
    request: HttpRequest,
    accounts: Data<AccountService>,
    jobs: Data<JobService>,
) -> HttpResult {
    let (limit, from) = paging::limit_and_cursor(&request, &[], Cursor::parse, |_, _| Ok(()))?;
    let from = from.unwrap_or(Cursor::START);
    let erased =
        erasure::accounts::erase(&accounts, &jobs, &caller, of.account.id, from, limit).await?;
    Ok(HttpResponse::Ok().json(AccountErasure {
        jobs: erased.count,
        next_cursor: erased.next.map(|it| it.to_string()),
    }))
}

pub async fn change(
    WithBody(OperatorOnly { caller, named: of }, body): WithBody<OperatorOnly<OfAccount>>,
    accounts: Data<AccountService>,
) -> HttpResult {
    let account = accounts::change(&accounts, &caller, of.account.id, read(&body)?).await?;
    Ok(HttpResponse::Ok().json(responses::account(&accounts.core, account).await?))
}

pub async fn transactions(of: OfAccount, request: HttpRequest, core: Data<Core>) -> HttpResult {
    let (window, filter) = ledger_query::from_request(&request)?;
    let page = ledger::page(&core, of.account.id, window, filter).await?;
    Ok(HttpResponse::Ok().json(to_page(page, Transaction::from)))
}

pub async fn deposit(
    WithBody(OperatorOnly { caller, named: of }, body): WithBody<OperatorOnly<OfAccount>>,
    request: HttpRequest,
    accounts: Data<AccountService>,
) -> HttpResult {
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let deposited = deposits::deposit(&accounts.core, &caller, of.account.id, new, key).await?;
    Ok(creation_response(deposited.is_replay).json(Transaction::from(deposited.entry)))
}

pub async fn batches(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let window = paging::window(&request)?;
    let page = page_of(&jobs.core, of.account.id, window).await?;
    Ok(HttpResponse::Ok().json(responses::batches(&jobs, page).await))
}
