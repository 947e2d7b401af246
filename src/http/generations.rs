//! The six generation calls of the native interface.

use crate::api::generation::Endpoint;
use crate::application::services::GenerationService;
use crate::application::submission::load_shedding;
use crate::application::submission::submit_generation::{
    estimate_generation, submit_generation, submit_with_cached_key,
};
use crate::web::auth::CachedPrincipal;
use crate::web::body;
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use crate::web::submissions::dry_run;
use crate::web::submissions::generation_call::{accepted_response, read};
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, ResponseError as _, web};
use tintype_storage::domain::tier::Mode;

/// Rare steps are boxed, here and in what this calls: while a creation waits for its commit, its future holds the memory of the largest
/// step that is not.
pub async fn create(
    endpoint: Endpoint,
    principal: CachedPrincipal,
    request: HttpRequest,
    payload: web::Payload,
    generations: web::Data<GenerationService>,
) -> HttpResult {
    // The account's decision checks the current key. With the cached key nothing may happen before that: no side effect that the current
    // key would not allow, and no refusal that it would not cause.
    let needs_current_key = endpoint.mode == Mode::ImageToImage
        || idempotency_key::is_given(request.headers())
        || !matches!(dry_run::is_requested(request.query_string()), Ok(false))
        || principal.check_scope(endpoint.tier).is_err()
        || principal.check_rate().is_err();
    let principal = match needs_current_key {
        true => CachedPrincipal::Current(principal.current(&request).await?),
        false => principal,
    };
    let call = (&principal, &request);
    let response = submit(endpoint, call, payload, &generations).await;
    let is_refused = |it: &Problem| it.status_code().is_client_error();
    if principal.is_cached() && response.as_ref().is_err_and(is_refused) {
        // An invalid key takes precedence over other errors.
        principal.current(&request).await?;
    }
    response
}

async fn submit(
    endpoint: Endpoint,
    (principal, request): (&CachedPrincipal, &HttpRequest),
    payload: web::Payload,
    generations: &web::Data<GenerationService>,
) -> HttpResult {
    principal.check_scope(endpoint.tier)?;
    let body = body::read_json(request, payload, &generations.settings).await?;
    load_shedding::check(generations, principal.account()).await?;
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
    drop(body);
    if is_dry_run {
        let caller = principal.current(request).await?;
        let estimate = Box::pin(estimate_generation(generations, &caller, generation)).await?;
        return Ok(no_store::json(estimate));
    }
    let job = match principal {
        CachedPrincipal::Current(caller) => {
            submit_generation(generations, caller, generation).await?
        }
        CachedPrincipal::Cached(caller) => {
            let current = async || principal.current(request).await;
            submit_with_cached_key(generations, caller, generation, current).await?
        }
    };
    Ok(accepted_response(&generations.settings, job))
}
