//! `GET /key`: the limits of the caller's own key.

use crate::application::services::AccountService;
use crate::web::auth::Principal;
use crate::web::problem::HttpResult;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use tintype_api::OwnKey;

/// `rate_limit` is the effective limit: the key's own or the configured default.
pub async fn show(principal: Principal, accounts: web::Data<AccountService>) -> HttpResult {
    principal.admit()?;
    let key = &principal.caller.key;
    let spending = accounts.core.store.key_spending(key.id).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    let rate = accounts.limits.keys.of(key);
    Ok(answer.json(OwnKey::new(key, &spending, rate, accounts.core.now())))
}
