//! What all calls on files and batches begin and end with.

use crate::application::payer::Payer;
use crate::compat::auth;
use crate::compat::dialect::Dialect;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;

/// Who calls, within their rate.
pub async fn admitted(request: &HttpRequest, state: &CompatState) -> Result<Payer, Refusal> {
    let caller = auth::authenticate(request, state).await?;
    caller.check_rate()?;
    Ok(caller)
}

/// An object of JSON, or a refusal in OpenAI's dialect.
pub fn answered(outcome: Result<Value, Refusal>) -> HttpResponse {
    match outcome {
        Ok(body) => {
            let mut answer = HttpResponse::Ok();
            answer.insert_header((header::CACHE_CONTROL, "no-store"));
            answer.json(body)
        }
        Err(refusal) => Dialect::OpenAi.answer(&refusal),
    }
}
