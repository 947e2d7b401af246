//! `GET /healthz` and `GET /readyz`, without a token.

use crate::application::operations::readiness;
use crate::application::services::JobService;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::{HttpResponse, web};
use tintype_api::ProcessStatus;

/// The process is alive.
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(ProcessStatus {
        status: "ok".into(),
    })
}

/// The process can accept jobs.
pub async fn readyz(jobs: web::Data<JobService>) -> HttpResult {
    match readiness::reason_not_ready(&jobs).await? {
        Some(why) => Err(Problem::new(Code::Overloaded, why).retry_after(5)),
        None => Ok(HttpResponse::Ok().json(ProcessStatus {
            status: "ready".into(),
        })),
    }
}
