//! The six generation calls of the native interface.

use crate::api::generation::Endpoint;
use crate::application::state::AppState;
use crate::application::submit_generation::{begin, estimate_generation, submit_generation};
use crate::web::auth::Principal;
use crate::web::body;
use crate::web::dry_run;
use crate::web::generation_call::{accepted, read};
use crate::web::problem::Problem;
use actix_web::{HttpRequest, HttpResponse, web};

/// Handles one generation call.
pub async fn create(
    endpoint: Endpoint,
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let caller = &principal.caller;
    caller.check_scope(endpoint.tier)?;
    let body = body::read_json(&request, payload, &state).await?;
    begin(&state, caller, endpoint.tier).await?;
    let is_dry_run = dry_run::is_asked(request.query_string());
    let (is_dry_run, faults) = match is_dry_run {
        Ok(is_dry_run) => (is_dry_run, Vec::new()),
        Err(faults) => (false, faults),
    };
    let headers = request.headers();
    let request = read(headers, &body, endpoint, Vec::new(), faults, &state)?;
    if is_dry_run {
        let estimate = estimate_generation(&state, caller, request).await?;
        return Ok(dry_run::answer(&estimate));
    }
    let job = submit_generation(&state, caller, request).await?;
    Ok(accepted(&state, job))
}
