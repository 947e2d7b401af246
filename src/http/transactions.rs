//! `GET /transactions`

use crate::application::core::Core;
use crate::web::auth::Principal;
use crate::web::paging::{self, listing};
use crate::web::problem::HttpResult;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

/// Newest first.
pub async fn list(principal: Principal, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let window = paging::window(&request)?;
    principal.admit()?;
    let account = principal.caller.account();
    let page = core
        .store
        .ledger(account, window.limit, window.after)
        .await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(listing(page, tintype_api::Transaction::from)))
}
