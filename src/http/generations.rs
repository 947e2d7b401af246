//! The six generation calls of the native interface.

use crate::api::generation::Endpoint;
use crate::application::caller::payer::Payer;
use crate::application::services::GenerationService;
use crate::application::submission::load_shedding;
use crate::application::submission::submit_generation::{estimate_generation, submit_generation};
use crate::request_text;
use crate::web::auth::CachedPrincipal;
use crate::web::body;
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use crate::web::submissions::dry_run;
use crate::web::submissions::generation_call::{accepted_response, read};
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, ResponseError as _, web};
use tintype_storage::domain::tier::Mode;

pub async fn create(
    endpoint: Endpoint,
    principal: CachedPrincipal,
    request: HttpRequest,
    payload: web::Payload,
    generations: web::Data<GenerationService>,
) -> HttpResult {
    let cached = &principal.caller;
    // The account's decision checks the current key. With the cached key nothing may happen before that: no side effect that the current
    // key would not allow, and no refusal that it would not cause.
    let needs_current_key = endpoint.mode == Mode::ImageToImage
        || request.headers().contains_key(idempotency_key::HEADER)
        || !matches!(dry_run::is_requested(request.query_string()), Ok(false))
        || cached.check_scope(endpoint.tier).is_err()
        || cached.check_rate().is_err();
    let current = match needs_current_key {
        true => Some(principal.reauthenticate(&request).await?),
        false => None,
    };
    let caller = current.as_ref().unwrap_or(cached);
    let call = (&principal, caller, &request);
    let response = submit(endpoint, call, payload, &generations).await;
    let is_refused = |it: &Problem| it.status_code().is_client_error();
    if caller.is_cached && response.as_ref().is_err_and(is_refused) {
        // An invalid key takes precedence over other errors.
        principal.reauthenticate(&request).await?;
    }
    response
}

async fn submit(
    endpoint: Endpoint,
    (principal, caller, request): (&CachedPrincipal, &Payer, &HttpRequest),
    payload: web::Payload,
    generations: &web::Data<GenerationService>,
) -> HttpResult {
    caller.check_scope(endpoint.tier)?;
    let body = body::read_json(request, payload, &generations.settings).await?;
    load_shedding::check(generations, caller.account()).await?;
    let is_dry_run = dry_run::is_requested(request.query_string());
    let (is_dry_run, faults) = match is_dry_run {
        Ok(is_dry_run) => (is_dry_run, Vec::new()),
        Err(faults) => (false, faults),
    };
    let generation = read(
        request.headers(),
        &body,
        endpoint,
        Vec::new(),
        faults,
        &generations.settings,
    )?;
    // A callback, and a text that is stored as an object, are checked before the decision. No text is larger than its body.
    let needs_current_key =
        generation.callback_url.is_some() || body.len() > request_text::MAX_INLINE_BYTES;
    let current = match caller.is_cached && needs_current_key {
        true => Some(principal.reauthenticate(request).await?),
        false => None,
    };
    let caller = current.as_ref().unwrap_or(caller);
    caller.check_scope(endpoint.tier)?;
    if is_dry_run {
        let estimate = estimate_generation(generations, caller, generation).await?;
        return Ok(no_store::json(estimate));
    }
    let job = submit_generation(generations, caller, generation).await?;
    Ok(accepted_response(&generations.settings, job))
}
