//! `generateContent` and its relatives, as the google-genai SDKs speak them.

mod answer;
mod content;
mod fields;
mod options;
mod request;
mod stream;

use super::auth;
use super::base64_body;
use super::body::{self, Pictures};
use super::deadline;
use super::dialect::Dialect;
use super::drain;
use super::job_waiter::{JobWaiter, answered};
use super::models;
use super::preflight;
use super::refusal::{Kind, Refusal};
use super::submission;
use super::usage::Prompt;
use crate::application::load_shedding;
use crate::application::payer::Payer;
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::idempotency_key;
use actix_web::{HttpRequest, HttpResponse, web};
use answer::Answer;
use serde_json::json;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

/// What can be done with a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Generate,
    Stream,
    CountTokens,
}

impl Method {
    fn of(word: &str) -> Option<Self> {
        match word {
            "generateContent" => Some(Self::Generate),
            "streamGenerateContent" => Some(Self::Stream),
            "countTokens" => Some(Self::CountTokens),
            _ => None,
        }
    }
}

/// A call whose key and model have been found good.
struct Opened {
    caller: Payer,
    tier: Tier,
    /// The id that the caller has used.
    model: String,
    method: Method,
    /// The caller's name for the request.
    name: Option<String>,
    until: Instant,
}

/// `POST {version}/models/{model}:{method}`
pub async fn call(
    request: HttpRequest,
    mut payload: web::Payload,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> HttpResponse {
    let (version, rest) = path.into_inner();
    let outcome = match open(&request, &version, &rest, &state).await {
        Ok(opened) => answer(&opened, &request, payload, &state).await,
        Err(refusal) => {
            drain::briefly(&mut payload).await;
            Err(refusal)
        }
    };
    outcome.unwrap_or_else(|refusal| Dialect::Gemini.answer(&refusal))
}

/// Key, model and scope, and whatever else can be told before the body is read.
async fn open(
    request: &HttpRequest,
    version: &str,
    rest: &str,
    state: &web::Data<CompatState>,
) -> Result<Opened, Refusal> {
    let until = deadline::until(request, state);
    let unknown = || {
        let message = format!("there is nothing at POST /{version}/models/{rest}");
        Refusal::new(Kind::NotFound, message)
    };
    let (model, word) = rest.rsplit_once(':').ok_or_else(unknown)?;
    let method = Method::of(word).ok_or_else(unknown)?;
    let caller = auth::authenticate(request, state).await?;
    let tier = models::tier_of(&state.config.tiers, model)
        .ok_or_else(|| models::unknown(model, version, word))?;
    submission::check_scope(&caller, tier, model)?;
    let name = idempotency_key::key(request.headers())
        .map_err(|fault| Refusal::field(fault.field, fault.message))?;
    let opened = Opened {
        caller,
        tier,
        name,
        model: model.to_owned(),
        method,
        until,
    };
    let (caller, name) = (&opened.caller, opened.name.as_deref());
    match method {
        Method::CountTokens => caller.check_rate()?,
        Method::Generate | Method::Stream => {
            preflight::check(state, caller, name, &[tier]).await?;
        }
    }
    Ok(opened)
}

async fn answer(
    opened: &Opened,
    request: &HttpRequest,
    payload: web::Payload,
    state: &web::Data<CompatState>,
) -> Result<HttpResponse, Refusal> {
    let pictures = match opened.method {
        Method::Generate | Method::Stream => Pictures::Stored,
        Method::CountTokens => Pictures::Passed,
    };
    let account = opened.caller.account();
    let received = body::receive(request, payload, state, account, pictures, opened.until).await?;
    if opened.method != Method::CountTokens {
        load_shedding::check(state, account).await?;
    }
    let read = request::read(&received.text, opened.tier, state)?;
    let prompt = Prompt::of(&read.prompt, read.pictures.len());
    if opened.method == Method::CountTokens {
        return Ok(count(prompt));
    }
    let answer = Answer {
        model: opened.model.clone(),
        tier: opened.tier,
        resolution: read.options.offer.resolution(),
        prompt,
        with_text: read.options.wants_text,
    };
    let asked = request::asked(read, received, opened.name.clone())?;
    let waiter = submission::accept(state, &opened.caller, asked, opened.until).await?;
    request_log::note_job(request, waiter.job);
    match opened.method {
        Method::Stream => stream::answer(answer, waiter, opened.until, request).await,
        _ => at_once(answer, waiter, opened.until).await,
    }
}

async fn at_once(
    answer: Answer,
    mut caller: JobWaiter,
    until: Instant,
) -> Result<HttpResponse, Refusal> {
    let made = caller.wait(until).await?;
    let parts = answer.last(&mut caller, made, answer.with_text).await?;
    let mut response = answer::response(&caller);
    Ok(response
        .content_type("application/json; charset=UTF-8")
        .body(base64_body::sized(parts, answered(vec![caller]))))
}

fn count(prompt: Prompt) -> HttpResponse {
    let mut details = vec![json!({"modality": "TEXT", "tokenCount": prompt.text})];
    if prompt.images > 0 {
        details.push(json!({"modality": "IMAGE", "tokenCount": prompt.images}));
    }
    HttpResponse::Ok().json(json!({
        "totalTokens": prompt.total(),
        "promptTokensDetails": details,
    }))
}
