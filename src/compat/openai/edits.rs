//! `POST /v1/images/edits`

use super::answer;
use super::multipart;
use crate::application::load_shedding;
use crate::application::payer::Payer;
use crate::compat::auth;
use crate::compat::body::prefix;
use crate::compat::deadline;
use crate::compat::dialect::Dialect;
use crate::compat::drain;
use crate::compat::preflight;
use crate::compat::refusal::Refusal;
use crate::compat::state::CompatState;
use crate::compat::submission;
use crate::observability::request_log;
use crate::web::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};

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
    mut payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let until = deadline::until(request, state);
    let (caller, name) = match opened(request, state).await {
        Ok(opened) => opened,
        Err(refusal) => {
            drain::briefly(&mut payload).await;
            return Err(refusal);
        }
    };
    let prefix = prefix();
    let account = caller.account();
    let form = multipart::receive(request, payload, &prefix, state, account, until).await?;
    load_shedding::check(state, account).await?;
    let options = form.options.read(&caller, state)?;
    if form.images.is_empty() {
        let message = "is required: send at least one part of this name";
        return Err(Refusal::field("image", message));
    }
    if options.count > 1 {
        // A job owns its input images, and they go when it ends.
        let message = "must be 1 for edits; send the request once for each picture";
        return Err(Refusal::field("n", message));
    }
    let inputs = form.images.len();
    let asked = options.request(form.images, name);
    let waiter = submission::accept(state, &caller, asked, until).await?;
    request_log::note_job(request, waiter.job);
    answer::when_made(vec![waiter], &options, inputs, until, state).await
}

/// Key and name of the call, and whatever else can be told before the body is read.
async fn opened(
    request: &HttpRequest,
    state: &web::Data<CompatState>,
) -> Result<(Payer, Option<String>), Refusal> {
    let caller = auth::authenticate(request, state).await?;
    let name = idempotency_key::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    preflight::check_any(state, &caller, name.as_deref()).await?;
    Ok((caller, name))
}
