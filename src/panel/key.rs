//! An API key with its chart data.

use super::charts;
use crate::api::answers;
use crate::application::error;
use crate::application::state::AppState;
use crate::web::access::OfKey;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

/// `GET /keys/{key_id}`.
pub async fn show(
    of: OfKey,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let span = charts::span_param(&request)?;
    let (shared, account, id) = (state.clone(), of.key.account, of.key.id);
    let days = web::block(move || charts::read(&shared, account, Some(id), span)).await;
    let days = days.map_err(|_| error::busy())??;
    let mut view = json!(answers::api_key(&state, of.key, None).await?);
    view["days"] = json!(days);
    Ok(HttpResponse::Ok().json(view))
}
