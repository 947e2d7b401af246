//! The account of the caller: its balance, its ledger, its usage, the models it may use, and the key of the call.

use crate::api::responses::models_on_sale;
use crate::application::accounts::ledger;
use crate::application::core::Core;
use crate::application::error;
use crate::application::operations::pause;
use crate::application::services::AccountService;
use crate::application::settings::Settings;
use crate::application::usage::list as usage;
use crate::web::auth::Principal;
use crate::web::no_store;
use crate::web::problem::HttpResult;
use crate::web::queries::ledger_query;
use crate::web::queries::paging::{Page, to_page};
use crate::web::queries::usage_query::{self, UsageQuery};
use actix_web::{HttpRequest, web};
use tintype_api::{Balance, OwnKey, Transaction};

/// All amounts are from the same point in time.
pub async fn balance(principal: Principal, core: web::Data<Core>) -> HttpResult {
    principal.admit()?;
    let account = core.store.account(principal.caller.account()).await?;
    let account = account.ok_or_else(error::account_is_gone)?;
    Ok(no_store::json(Balance::from(&account)))
}

/// Newest first.
pub async fn transactions(
    principal: Principal,
    request: HttpRequest,
    core: web::Data<Core>,
) -> HttpResult {
    let (window, filter) = ledger_query::from_request(&request)?;
    principal.admit()?;
    let page = ledger::page(&core, principal.caller.account(), window, filter).await?;
    Ok(no_store::json(to_page(page, Transaction::from)))
}

/// Oldest first.
pub async fn daily_usage(
    principal: Principal,
    request: HttpRequest,
    core: web::Data<Core>,
) -> HttpResult {
    let UsageQuery {
        filter,
        limit,
        after,
    } = usage_query::from_request(&request, core.now().day())?;
    principal.admit()?;
    let account = principal.caller.account();
    let (data, last) = usage::page(&core, account, filter, limit, after).await?;
    let next_cursor = last.map(|it| usage_query::cursor(&it));
    Ok(no_store::json(Page { data, next_cursor }))
}

/// The models with their sizes and prices, always a single page.
pub async fn models(
    principal: Principal,
    core: web::Data<Core>,
    settings: web::Data<Settings>,
) -> HttpResult {
    principal.admit()?;
    let pause = pause::current(&core).await?;
    let models = models_on_sale(&settings, &pause, |tier| principal.caller.key.allows(tier));
    Ok(no_store::json(Page::of(models, None)))
}

/// The limits of the caller's own key. `rate_limit` is the effective limit: the key's own or the configured default.
pub async fn key(principal: Principal, accounts: web::Data<AccountService>) -> HttpResult {
    principal.admit()?;
    let key = &principal.caller.key;
    let core = &accounts.core;
    // Read first: a job that ends after this read is neither spent nor reserved, instead of both.
    let spending = core.store.key_spending(key.id).await?;
    let actor = core.account_actor(key.account, error::account_is_gone);
    let reserved = actor.await?.reserved_after_commits(key.id).await?;
    let rate = accounts.limits.keys.of(key);
    let own = OwnKey::new(key, &spending, reserved, rate, core.now());
    Ok(no_store::json(own))
}
