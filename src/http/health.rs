//! `GET /healthz` and `GET /readyz`, without a token.

use super::openapi::kinds;
use super::problem::{Code, Problem};
use super::state::AppState;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::Serialize;

/// How the process stands.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Standing", deny_unknown_fields)]
pub struct Standing {
    /// `ok` for a process that answers, `ready` for one that can take jobs.
    #[schemars(with = "kinds::StandingWord")]
    status: &'static str,
}

/// The process answers.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(Standing { status: "ok" })
}

/// The process can take jobs: its records can be read and its object store answers.
pub async fn readyz(state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    state.store.pause()?;
    match state.images.probe().await {
        Ok(()) => Ok(HttpResponse::Ok().json(Standing { status: "ready" })),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            Err(Problem::new(Code::Overloaded, "the object store does not answer").retry_after(5))
        }
    }
}
