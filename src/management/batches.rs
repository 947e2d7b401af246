//! Lists the batches of an account.

use crate::api::answers;
use crate::application::batches;
use crate::application::services::JobService;
use crate::web::access::OfAccount;
use crate::web::paging;
use crate::web::problem::HttpResult;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};

/// `GET /accounts/{account_id}/batches`
pub async fn list(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let window = paging::window(&request)?;
    let page = batches::page_of(&jobs.core, of.account.id, window).await?;
    Ok(HttpResponse::Ok().json(answers::batches(&jobs, page).await))
}
