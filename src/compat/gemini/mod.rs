//! `generateContent`, `streamGenerateContent` and `countTokens` for the google-genai SDKs.

mod content;
pub mod interactions;
mod options;
mod request;
mod response;
mod stream;
pub mod unknown_paths;

use super::auth;
use super::deadline;
use super::dialect::Dialect;
use super::job_stream;
use super::jobs::job_waiter::JobWaiter;
use super::jobs::submission::{self, Call};
use super::models;
use super::preflight;
use super::refusal::{CompatResult, Refusal};
use super::request_body::body::{self, ImageHandling};
use super::request_body::drain::drain_if_refused;
use super::request_body::scanner::ImageFields;
use super::response_head::image_response;
use super::usage::PromptTokens;
use crate::application::caller::payer::Payer;
use crate::application::submission::load_shedding;
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};
use response::ResponseContext;
use serde_json::json;
use stream::Chunks;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Generate,
    Stream,
    CountTokens,
}

impl Method {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "generateContent" => Some(Self::Generate),
            "streamGenerateContent" => Some(Self::Stream),
            "countTokens" => Some(Self::CountTokens),
            _ => None,
        }
    }
}

/// A request with a valid key and model.
struct AdmittedCall {
    caller: Payer,
    tier: Tier,
    /// The model id that the caller sent.
    model: String,
    method: Method,
    idempotency_key: Option<String>,
    deadline: Instant,
}

pub async fn call(
    request: HttpRequest,
    mut payload: web::Payload,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let (version, rest) = path.into_inner();
    let admitted = admit(&request, &version, &rest, &state).await;
    let admitted = drain_if_refused(&mut payload, admitted).await?;
    respond(admitted, &request, payload, &state).await
}

/// All checks before the body is read.
async fn admit(
    request: &HttpRequest,
    version: &str,
    rest: &str,
    state: &web::Data<CompatState>,
) -> Result<AdmittedCall, Refusal> {
    let deadline = deadline::of_request(request, &state.settings);
    let unknown = || unknown_paths::refusal(request);
    let (model, method_name) = rest.rsplit_once(':').ok_or_else(unknown)?;
    let method = Method::parse(method_name).ok_or_else(unknown)?;
    let caller = auth::authenticate(request, &state.accounts).await?;
    let tier = models::tier_of(&state.settings.config.tiers, model)
        .ok_or_else(|| models::unknown(model, version, method_name))?;
    submission::check_scope(&caller, tier, model)?;
    let idempotency_key = idempotency_key::key(request.headers())?;
    let admitted = AdmittedCall {
        caller,
        tier,
        idempotency_key,
        model: model.to_owned(),
        method,
        deadline,
    };
    let (caller, idempotency_key) = (&admitted.caller, admitted.idempotency_key.as_deref());
    match method {
        Method::CountTokens => caller.check_rate()?,
        Method::Generate | Method::Stream => {
            preflight::check(state, caller, idempotency_key, None, &[tier]).await?;
        }
    }
    Ok(admitted)
}

async fn respond(
    admitted: AdmittedCall,
    request: &HttpRequest,
    payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let images = match admitted.method {
        Method::Generate | Method::Stream => ImageHandling::Store(ImageFields::InlineData),
        Method::CountTokens => ImageHandling::Count,
    };
    let account = admitted.caller.account();
    let received =
        body::receive(request, payload, state, account, images, admitted.deadline).await?;
    if admitted.method != Method::CountTokens {
        load_shedding::check(&state.generations, account).await?;
    }
    let body = request::parse(&received.text, admitted.tier, &state.settings)?;
    let prompt = PromptTokens::estimate(&body.prompt, body.images.len());
    if admitted.method == Method::CountTokens {
        return Ok(count_tokens(prompt));
    }
    let context = ResponseContext {
        model: admitted.model,
        tier: admitted.tier,
        resolution: body.options.offer.resolution(),
        prompt,
        with_text: body.options.wants_text,
    };
    let call = Call {
        state,
        caller: admitted.caller,
        attempt: None,
        deadline: admitted.deadline,
    };
    let generation = request::generation_request(body, received, admitted.idempotency_key)?;
    let waiter = call.submit(generation).await?;
    request_log::record_job(request, waiter.job);
    match admitted.method {
        Method::Stream => {
            let chunks = Chunks::of(request, context);
            job_stream::respond(chunks, waiter, admitted.deadline).await
        }
        _ => respond_unary(context, waiter, admitted.deadline).await,
    }
}

async fn respond_unary(
    context: ResponseContext,
    mut waiter: JobWaiter,
    deadline: Instant,
) -> Result<HttpResponse, Refusal> {
    let outcome = waiter.wait(deadline).await?;
    let parts = context
        .final_parts(&mut waiter, outcome, context.with_text)
        .await?;
    let replayed = waiter.replayed;
    Ok(image_response(
        Dialect::Gemini,
        replayed,
        parts,
        vec![waiter],
    ))
}

fn count_tokens(prompt: PromptTokens) -> HttpResponse {
    HttpResponse::Ok().json(json!({
        "totalTokens": prompt.total(),
        "promptTokensDetails": prompt.gemini_details(),
    }))
}
