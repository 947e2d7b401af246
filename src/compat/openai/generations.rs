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
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::admission::Admitted;
use crate::web::body;
use crate::web::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};
use tokio::time::Instant;

/// Handles one call.
pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let outcome = make(&request, payload, &state).await;
    outcome.unwrap_or_else(|refusal| Dialect::OpenAi.answer(&refusal))
}

async fn make(
    request: &HttpRequest,
    payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let until = patience::until(request, state);
    let admitted = auth::authenticate(request, state)?;
    let name = idempotency_key::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    let body = body::read_json(request, payload, state).await?;
    let wanted = Options::of_json(&body)?.read(&admitted.key, state)?;
    let callers = accept(state, &admitted, &wanted, name, until).await?;
    if let Some(caller) = callers.first() {
        request_log::note_job(request, caller.job);
    }
    answer::when_made(callers, &wanted, 0, until, state).await
}

/// A job for each picture: those that are there already, and new ones for the rest if all of it can be had. When one of these
/// is not accepted after all, those before it are what is made: what is charged is what is answered.
async fn accept(
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    wanted: &Wanted,
    name: Option<String>,
    until: Instant,
) -> Result<Vec<Caller>, Refusal> {
    let (mut callers, mut rest) = (Vec::new(), Vec::new());
    for number in 0..wanted.count {
        let asked = Asked {
            tier: wanted.tier,
            prompt: wanted.prompt.clone(),
            ratio: wanted.ratio,
            resolution: wanted.resolution,
            inputs: Vec::new(),
            of: wanted.count,
            name: name.as_ref().map(|name| numbered(name, number)),
            prefix: prefix(),
        };
        match call::earlier(state, &admitted.key, &asked)? {
            Some(caller) => callers.push(caller),
            None => rest.push(asked),
        }
    }
    match begin(state, admitted, rest, until, &mut callers).await {
        Err(refusal) if callers.is_empty() => return Err(refusal),
        Err(refusal) => {
            tracing::debug!(message = %refusal.message, "not all pictures of a call were accepted");
        }
        Ok(()) => {}
    }
    Ok(callers)
}

async fn begin(
    state: &web::Data<CompatState>,
    admitted: &Admitted,
    rest: Vec<Asked>,
    until: Instant,
    callers: &mut Vec<Caller>,
) -> Result<(), Refusal> {
    if let Some(one) = rest.first() {
        call::check(state, admitted, one, rest.len()).await?;
    }
    for asked in rest {
        callers.push(call::begin(state, admitted, asked, until).await?);
    }
    Ok(())
}

/// Each job has an idempotency key of its own. No caller can send one with a line break in it.
fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        _ => format!("{name}\n{number}"),
    }
}
