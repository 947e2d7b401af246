//! What only the operator sees: the state of the service, and the settings in effect.

use super::Panel;
use super::service;
use crate::application::state::AppState;
use crate::web::access::OperatorCall;
use crate::web::problem::Problem;
use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;

type Answer = Result<HttpResponse, Problem>;

pub async fn show_stats(_: OperatorCall, state: Data<AppState>, panel: Data<Panel>) -> Answer {
    Ok(HttpResponse::Ok().json(service::figures(state, panel).await?))
}

/// The effective configuration, secrets masked: what `check-config` prints.
pub async fn settings(_: OperatorCall, state: Data<AppState>) -> Answer {
    Ok(HttpResponse::Ok().json(json!({"toml": state.config.render()})))
}
