//! `POST /v1/images/edits`: images from a prompt and input images.

use super::mask;
use super::multipart;
use super::response;
use super::sdk_attempt;
use super::stream::{self, Completed, Events};
use crate::application::generation_request::{GenerationRequest, Input};
use crate::application::load_shedding;
use crate::application::payer::Payer;
use crate::compat::auth;
use crate::compat::deadline;
use crate::compat::dialect::Dialect;
use crate::compat::drain::drain_if_refused;
use crate::compat::preflight;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::compat::submission::Call;
use crate::observability::request_log;
use crate::web::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};
use tokio::time::Instant;

pub async fn create(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let outcome = edit(&request, payload, &state).await;
    outcome.unwrap_or_else(|refusal| Dialect::OpenAi.response(&refusal))
}

async fn edit(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let deadline = deadline::of_request(request, &state.settings);
    let caller = auth::authenticate(request, &state.accounts).await;
    let caller = drain_if_refused(&mut payload, caller).await?;
    let outcome = respond(request, payload, state, &caller, deadline).await;
    let (attempt, calls) = (sdk_attempt::number_of(request), &state.answered_calls);
    sdk_attempt::note_refusal(attempt, calls, &caller, &outcome, state.core.now());
    outcome
}

async fn respond(
    request: &HttpRequest,
    mut payload: web::Payload,
    state: &web::Data<CompatState>,
    caller: &Payer,
    deadline: Instant,
) -> Result<HttpResponse, Refusal> {
    let idempotency_key = check_headers(request, state, caller).await;
    let idempotency_key = drain_if_refused(&mut payload, idempotency_key).await?;
    let account = caller.account();
    let mut form = multipart::receive(request, payload, state, account, deadline).await?;
    load_shedding::check(&state.generations, account).await?;
    let options = form.options.read(caller, &state.settings)?;
    if form.images.is_empty() {
        return Err(Refusal::missing(
            "image",
            "send at least one part of this name",
        ));
    }
    if options.count > 1 {
        // A job owns its input images, which are deleted when it ends.
        let message = "must be 1 for edits; send one request for each image";
        return Err(Refusal::field("n", message));
    }
    let inputs = form.images.len();
    let has_mask = form.mask.is_some();
    if let Some(mask) = form.mask.take() {
        mask::check(
            &mask,
            form.images.first(),
            options.offer.tier(),
            &state.settings,
        )?;
        form.images.push(Input::Stored(mask));
    }
    let generation_request = GenerationRequest {
        has_mask,
        ..options.request(form.images, idempotency_key)
    };
    let call = Call {
        state,
        caller,
        attempt: Some(sdk_attempt::number_of(request)),
        deadline,
    };
    let waiter = call.submit(generation_request).await?;
    request_log::note_job(request, waiter.job);
    if options.stream {
        let events = Events {
            state: state.clone(),
            completed: Completed::Edit,
            options,
            inputs,
        };
        return stream::respond(events, waiter, deadline).await;
    }
    response::wait_and_respond(vec![waiter], &options, inputs, deadline, &state.core).await
}

/// Runs the checks that need no body, and returns the idempotency key.
async fn check_headers(
    request: &HttpRequest,
    state: &web::Data<CompatState>,
    caller: &Payer,
) -> Result<Option<String>, Refusal> {
    let key = idempotency_key::key(request.headers())?;
    preflight::check_any(state, caller, key.as_deref()).await?;
    Ok(key)
}
