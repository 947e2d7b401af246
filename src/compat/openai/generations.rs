//! `POST /v1/images/generations`: images from a prompt.

use super::options::{Options, RawOptions};
use super::response;
use super::stream::{Completed, Events};
use crate::application::caller::payer::Payer;
use crate::application::submission::generation_request::GenerationRequest;
use crate::application::submission::load_shedding;
use crate::application::submission::submit_generation::check_images;
use crate::compat::job_stream;
use crate::compat::jobs::job_waiter::JobWaiter;
use crate::compat::jobs::submission::Call;
use crate::compat::refusal::{CompatResult, Refusal};
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::body;
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;

pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> CompatResult {
    let mut call = Call::of_sdk(&request, &state).await?;
    let received = receive(&request, payload, &state, &call.caller).await;
    let (body, idempotency_key) = call.recorded(None, received)?;
    let options = RawOptions::of_json(&body)?.read(&call.caller, &state.settings)?;
    call.heed_read_timeout(&request, options.stream);
    let content = options.request(Vec::new(), None).fingerprint();
    let outcome = respond(&call, &request, options, idempotency_key.as_deref()).await;
    call.recorded(Some(content), outcome)
}

/// Returns the body and the idempotency key.
async fn receive(
    request: &HttpRequest,
    payload: web::Payload,
    state: &CompatState,
    caller: &Payer,
) -> Result<(Bytes, Option<String>), Refusal> {
    let key = idempotency_key::key(request.headers())?;
    let body = body::read_json(request, payload, &state.settings).await?;
    load_shedding::check(&state.generations, caller.account()).await?;
    Ok((body, key))
}

async fn respond(
    call: &Call<'_>,
    request: &HttpRequest,
    options: Options,
    idempotency_key: Option<&str>,
) -> Result<HttpResponse, Refusal> {
    let state = call.state;
    let mut waiters = submit_all(call, &options, idempotency_key).await?;
    if let Some(waiter) = waiters.first() {
        request_log::record_job(request, waiter.job);
    }
    if options.stream
        && let Some(waiter) = waiters.pop()
    {
        let events = Events {
            state: state.clone(),
            completed: Completed::Generation,
            options,
            inputs: 0,
        };
        return job_stream::respond(events, waiter, call.deadline).await;
    }
    response::wait_and_respond(waiters, &options, 0, call.deadline, &state.core).await
}

/// Finds or submits a job for each image. Submits new jobs only if the account can pay all of them. If one is refused anyway, the
/// response contains only the accepted ones, so that the caller gets what it is charged for. A repeated call under an idempotency
/// key finds the jobs of the first one, and submits those that were refused, or canceled because the caller had left.
async fn submit_all(
    call: &Call<'_>,
    options: &Options,
    idempotency_key: Option<&str>,
) -> Result<Vec<JobWaiter>, Refusal> {
    // A concurrent call with the same key waits until the first one has submitted all jobs.
    let _submission = match idempotency_key {
        Some(key) if options.count > 1 => {
            let name = (call.caller.account(), key.to_owned());
            Some(call.state.submissions.acquire(name, 1).await)
        }
        _ => None,
    };
    let (mut waiters, mut rest) = (Vec::new(), Vec::new());
    for number in 0..options.count {
        let key = idempotency_key.map(|key| job_key(key, number));
        let generation_request = options.request(Vec::new(), key);
        match call.find_existing(&generation_request).await? {
            Some(waiter) => waiters.push(waiter),
            None => rest.push(generation_request),
        }
    }
    match submit_new(call, rest, &mut waiters).await {
        Err(refusal) if waiters.is_empty() => return Err(refusal),
        Err(refusal) => {
            tracing::debug!(message = %refusal.message, "not all jobs of a request were accepted");
        }
        Ok(()) => {}
    }
    Ok(waiters)
}

async fn submit_new(
    call: &Call<'_>,
    rest: Vec<GenerationRequest>,
    waiters: &mut Vec<JobWaiter>,
) -> Result<(), Refusal> {
    if let [one, _, ..] = &rest[..] {
        check_images(&call.state.generations, &call.caller, one, rest.len()).await?;
    }
    for request in rest {
        waiters.push(call.submit_new(request).await?);
    }
    Ok(())
}

/// The idempotency key of each job. A caller cannot send a key with a line break.
fn job_key(key: &str, number: usize) -> String {
    match number {
        0 => key.to_owned(),
        _ => format!("{key}\n{number}"),
    }
}
