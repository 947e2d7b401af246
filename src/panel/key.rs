//! A key of an account, with its days.

use super::charts;
use crate::api::answers;
use crate::application::error;
use crate::application::state::AppState;
use crate::web::access::OfKey;
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;

/// `GET /keys/{key_id}`, with what its jobs came to day by day
pub async fn show(
    of: OfKey,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let days = charts::asked(&request)?;
    let (shared, account, id) = (state.clone(), of.key.account, of.key.id);
    let days = web::block(move || charts::read(&shared, account, Some(id), days)).await;
    let days = days.map_err(|_| error::busy())??;
    let mut view = json!(answers::api_key(&state, of.key, None).await?);
    view["days"] = json!(days);
    Ok(HttpResponse::Ok().json(view))
}
