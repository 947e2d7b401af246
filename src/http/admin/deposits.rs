//! Deposits: money that is added to an account, or taken back.

use super::accounts::find;
use crate::api::requests::read_once;
use crate::application::deposits;
use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::body;
use crate::web::idempotency_key::{self, REPLAYED};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};

/// `POST /accounts/{account_id}/deposits`
pub async fn create(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let account = find(&state, &path)?;
    let body = body::read_json(&request, payload, &state).await?;
    let (new, key) = read_once(&body, idempotency_key::key(request.headers()))?;
    let made = deposits::deposit(&state, &operator.author, account.id, new, key).await?;
    let mut answer = HttpResponse::Created();
    if made.is_replay {
        answer.insert_header(REPLAYED);
    }
    Ok(answer.json(tintype_api::Transaction::from(made.entry)))
}
