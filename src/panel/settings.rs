//! The effective settings, for the operator.

use crate::application::settings::Settings;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::HttpResult;
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;

/// The output of `check-config`, with secrets masked.
pub async fn show(_: OperatorCall, settings: Data<Settings>) -> HttpResult {
    Ok(HttpResponse::Ok().json(json!({"toml": settings.config.render()})))
}
