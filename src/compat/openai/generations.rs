//! `POST /v1/images/generations`

use super::answer;
use super::options::{Options, RawOptions};
use crate::application::generation_request::GenerationRequest;
use crate::application::load_shedding;
use crate::application::payer::Payer;
use crate::application::submit_generation::check_pictures;
use crate::compat::auth;
use crate::compat::deadline;
use crate::compat::dialect::Dialect;
use crate::compat::job_waiter::JobWaiter;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::compat::submission;
use crate::observability::request_log;
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
    let until = deadline::until(request, state);
    let caller = auth::authenticate(request, state).await?;
    let name = idempotency_key::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    let body = body::read_json(request, payload, state).await?;
    load_shedding::check(state, caller.account()).await?;
    let options = RawOptions::of_json(&body)?.read(&caller, state)?;
    let waiters = accept(state, &caller, &options, name, until).await?;
    if let Some(waiter) = waiters.first() {
        request_log::note_job(request, waiter.job);
    }
    answer::when_made(waiters, &options, 0, until, state).await
}

/// A job for each picture: those that are there already, and new ones for the rest if all of it can be had. When one of these
/// is not accepted after all, those before it are what is made: what is charged is what is answered.
async fn accept(
    state: &web::Data<CompatState>,
    caller: &Payer,
    options: &Options,
    name: Option<String>,
    until: Instant,
) -> Result<Vec<JobWaiter>, Refusal> {
    let (mut waiters, mut rest) = (Vec::new(), Vec::new());
    for number in 0..options.count {
        let name = name.as_ref().map(|name| numbered(name, number));
        let asked = options.request(Vec::new(), name);
        match submission::earlier(state, caller, &asked).await? {
            Some(waiter) => waiters.push(waiter),
            None => rest.push(asked),
        }
    }
    match begin(state, caller, rest, until, &mut waiters).await {
        Err(refusal) if waiters.is_empty() => return Err(refusal),
        Err(refusal) => {
            tracing::debug!(message = %refusal.message, "not all pictures of a call were accepted");
        }
        Ok(()) => {}
    }
    Ok(waiters)
}

async fn begin(
    state: &web::Data<CompatState>,
    caller: &Payer,
    rest: Vec<GenerationRequest>,
    until: Instant,
    waiters: &mut Vec<JobWaiter>,
) -> Result<(), Refusal> {
    if let Some(one) = rest.first() {
        check_pictures(&state.app, caller, one, rest.len()).await?;
    }
    for asked in rest {
        waiters.push(submission::begin(state, caller, asked, until).await?);
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
