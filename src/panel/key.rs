//! An API key with its chart data.

use super::{Panel, charts};
use crate::api::responses;
use crate::application::services::AccountService;
use crate::web::auth::access::OfKey;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

pub async fn show(
    of: OfKey,
    request: HttpRequest,
    accounts: web::Data<AccountService>,
    panel: web::Data<Panel>,
) -> HttpResult {
    let span = charts::span_param(&request)?;
    let (account, id) = (of.key.account, of.key.id);
    let chart = charts::read(panel, accounts.core.clone(), account, Some(id), span).await?;
    let mut view = json!(responses::api_key(&accounts, of.key, None).await?);
    chart.put_into(&mut view);
    Ok(HttpResponse::Ok().json(view))
}
