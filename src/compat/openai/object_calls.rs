//! Authentication of all requests for files and batches, and responses to those that create one.

use crate::application::caller::payer::Payer;
use crate::compat::auth;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::web::no_store;
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;

/// Authenticates the caller and checks its rate limit.
pub async fn authenticate(request: &HttpRequest, state: &CompatState) -> Result<Payer, Refusal> {
    let caller = auth::authenticate(request, &state.accounts).await?;
    caller.check_rate()?;
    Ok(caller)
}

/// The response to a request that creates an object, or finds the one that an earlier attempt created.
pub fn creation_response(body: Value, replayed: bool) -> HttpResponse {
    let mut response = no_store::ok();
    if replayed {
        response.insert_header(idempotency_key::REPLAYED);
    }
    response.json(body)
}
