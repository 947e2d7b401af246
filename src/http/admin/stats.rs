//! Statistics of the service.

use crate::api::stats::stats;
use crate::application::service_stats;
use crate::application::state::AppState;
use crate::web::access::OperatorCall;
use crate::web::problem::Problem;
use actix_web::{HttpResponse, web};

/// `GET /stats`
pub async fn show(_: OperatorCall, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(stats(&service_stats::gather(&state).await?)))
}
