//! Statistics of the service.

use crate::api::stats::stats;
use crate::application::core::Core;
use crate::web::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::{HttpResponse, web};

/// `GET /stats`
pub async fn show(_: OperatorCall, core: web::Data<Core>) -> HttpResult {
    Ok(HttpResponse::Ok().json(stats(&core).await?))
}
