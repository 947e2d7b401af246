//! `GET /key`: the limits of the caller's own key.

use crate::application::state::AppState;
use crate::web::auth::Principal;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpResponse, web};
use tintype_api::OwnKey;

/// `rate_limit` is the effective limit: the key's own or the configured default.
pub async fn show(
    principal: Principal,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    principal.admit()?;
    let key = &principal.caller.key;
    let spending = state.store.key_spending(key.id).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    let rate = state.limits.keys.of(key);
    Ok(answer.json(OwnKey::new(key, &spending, rate, state.now())))
}
