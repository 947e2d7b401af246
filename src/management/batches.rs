//! Lists the batches of an account.

use crate::api::answers;
use crate::application::batches;
use crate::application::state::AppState;
use crate::web::access::OfAccount;
use crate::web::paging;
use crate::web::problem::Problem;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

/// `GET /accounts/{account_id}/batches`
pub async fn list(
    of: OfAccount,
    request: HttpRequest,
    state: Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let window = paging::window(&request)?;
    let page = batches::page_of(&state, of.account.id, window).await?;
    Ok(HttpResponse::Ok().json(answers::batches(&state, page).await))
}
