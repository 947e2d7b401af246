//! `GET /balance`

use super::auth::Principal;
use super::failures;
use super::problem::Problem;
use super::state::AppState;
use super::wire::job::BalanceView;
use actix_web::http::header;
use actix_web::{HttpResponse, web};

/// The account's money, all amounts of one moment.
pub async fn show(
    principal: Principal,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    principal.admit()?;
    let account = state.store.account(principal.key.account)?;
    let account = account.ok_or_else(failures::account_is_gone)?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(BalanceView::new(&account)))
}
