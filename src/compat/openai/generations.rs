//! `POST /v1/images/generations`

use super::answer;
use super::wanted::{Options, Wanted};
use crate::compat::auth;
use crate::compat::body::prefix;
use crate::compat::call::{self, Asked};
use crate::compat::caller::Caller;
use crate::compat::dialect::Dialect;
use crate::compat::patience;
use crate::compat::refusal::Refusal;
use crate::http::body;
use crate::http::rate::{self, Standing};
use crate::http::state::AppState;
use crate::http::{funds, idempotency, request_log};
use actix_web::{HttpRequest, HttpResponse, web};
use std::sync::Arc;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::ApiKey;

/// Handles one call.
pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState>,
) -> HttpResponse {
    let outcome = make(&request, payload, &state).await;
    outcome.unwrap_or_else(|refusal| Dialect::OpenAi.answer(&refusal))
}

async fn make(
    request: &HttpRequest,
    payload: web::Payload,
    state: &web::Data<AppState>,
) -> Result<HttpResponse, Refusal> {
    let until = patience::until(request, state);
    let key = auth::authenticate(request, state)?;
    let name = idempotency::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    let body = body::read_json(request, payload, state).await?;
    let wanted = Options::of_json(&body)?.read(&key, state)?;
    let callers = accept(state, &key, rate::standing(request), &wanted, name).await?;
    if let Some(caller) = callers.first() {
        request_log::note_job(request, caller.job);
    }
    answer::when_made(callers, &wanted, 0, until, state).await
}

/// A job for each picture. When the first is accepted and a later one is not, those that were are all that is made: what is
/// charged is what is answered.
async fn accept(
    state: &web::Data<AppState>,
    key: &Arc<ApiKey>,
    standing: Option<Standing>,
    wanted: &Wanted,
    name: Option<String>,
) -> Result<Vec<Caller>, Refusal> {
    if wanted.count > 1 && name.is_none() {
        rate::admit(standing)?;
        let price = state.catalog.price(wanted.tier, wanted.resolution);
        let price = price.unwrap_or_default();
        let mut total = Amount::ZERO;
        for _ in 0..wanted.count {
            total = total.plus(price).unwrap_or(total);
        }
        funds::check(state, key, total).await?;
    }
    let mut callers = Vec::new();
    for number in 0..wanted.count {
        let asked = Asked {
            tier: wanted.tier,
            prompt: wanted.prompt.clone(),
            ratio: wanted.ratio,
            resolution: wanted.resolution,
            inputs: Vec::new(),
            name: name.as_ref().map(|name| numbered(name, number)),
            prefix: prefix(),
        };
        match call::accept(state, key, standing, asked).await {
            Ok(caller) => callers.push(caller),
            Err(refusal) if callers.is_empty() => return Err(refusal),
            Err(refusal) => {
                tracing::debug!(message = %refusal.message, "not all pictures of a call were accepted");
                break;
            }
        }
    }
    Ok(callers)
}

/// Each job has an idempotency key of its own. No caller can send one with a line break in it.
fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        _ => format!("{name}\n{number}"),
    }
}
