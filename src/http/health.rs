//! `GET /healthz` and `GET /readyz`, without a token.

use super::problem::{Code, Problem};
use super::state::AppState;
use actix_web::{HttpResponse, web};
use serde_json::json;

/// The process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// The process can take jobs: its records can be read and its object store answers.
pub async fn readyz(state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    state.store.pause()?;
    match state.images.probe().await {
        Ok(()) => Ok(HttpResponse::Ok().json(json!({"status": "ready"}))),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Err(Problem::new(Code::Overloaded, "the object store does not answer").retry_after(5))
        }
    }
}
