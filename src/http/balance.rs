//! `GET /balance`

use crate::application::core::Core;
use crate::application::error;
use crate::web::auth::Principal;
use crate::web::problem::HttpResult;
use actix_web::http::header;
use actix_web::{HttpResponse, web};

/// All amounts are from the same point in time.
pub async fn show(principal: Principal, core: web::Data<Core>) -> HttpResult {
    principal.admit()?;
    let account = core.store.account(principal.caller.account()).await?;
    let account = account.ok_or_else(error::account_is_gone)?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(tintype_api::Balance::from(&account)))
}
