//! Google's Interactions API. An interaction is a job: its id is the id of the job, and its state is that of the job's record.

mod body;
mod stream;
mod view;

use self::body::{Body, Mode};
use self::stream::Events;
use self::view::{Shape, View};
use super::request::{generation_request, no_interaction};
use super::unknown_paths;
use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::images::deletion;
use crate::application::submission::load_shedding;
use crate::compat::auth;
use crate::compat::deadline;
use crate::compat::dialect::Dialect;
use crate::compat::job_stream;
use crate::compat::jobs::background_jobs;
use crate::compat::jobs::job_waiter::{JobWaiter, WaitOutcome};
use crate::compat::jobs::submission::Call;
use crate::compat::preflight;
use crate::compat::refusal::{CompatResult, Kind, Refusal};
use crate::compat::request_body::body::{self as compat_body, ImageHandling};
use crate::compat::request_body::drain::drain_if_refused;
use crate::compat::request_body::scanner::ImageFields;
use crate::compat::response_head::image_response;
use crate::compat::state::CompatState;
use crate::observability::request_log;
use crate::web::no_store;
use crate::web::problem::catch_panic::GuardedResource;
use crate::web::submissions::idempotency_key;
use actix_web::{HttpRequest, web};
use serde_json::json;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState, Origin};

pub fn configure(service: &mut web::ServiceConfig) {
    let resource = |path: &str| {
        let path = format!("/{{version:v1|v1beta|v1alpha}}/interactions{path}");
        GuardedResource::new(web::resource(path), unknown_paths::not_found)
    };
    service
        .service(resource("").post(create))
        .service(resource("/{id}").get(show).delete(delete))
        .service(resource("/{id}/cancel").post(cancel));
}

async fn create(
    request: HttpRequest,
    mut payload: web::Payload,
    version: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let deadline = deadline::of_request(&request, &state.settings);
    let admitted = admit(&request, &state).await;
    let (caller, idempotency_key) = drain_if_refused(&mut payload, admitted).await?;
    let call = Call {
        state: &state,
        caller,
        // The SDKs do not number their attempts.
        attempt: None,
        deadline,
    };
    let submitted = submit(&call, &request, payload, &version, idempotency_key).await?;
    let (view, mode, mut waiter) = submitted;
    let parts = match mode {
        Mode::Stream => {
            let job = waiter.record().await?;
            return job_stream::respond(Events { view, job }, waiter, deadline).await;
        }
        Mode::Background => view.started(&waiter.record().await?),
        Mode::Wait => {
            let image = match waiter.wait(deadline).await? {
                WaitOutcome::Image(image) => Some(waiter.open(&image).await?),
                WaitOutcome::Blocked(_) => None,
            };
            view.parts(&waiter.record().await?, image).await
        }
    };
    Ok(image_response(
        Dialect::Gemini,
        waiter.replayed,
        parts,
        vec![waiter],
    ))
}

/// All checks before the body is read, which names the model.
async fn admit(
    request: &HttpRequest,
    state: &web::Data<CompatState>,
) -> Result<(Payer, Option<String>), Refusal> {
    let caller = auth::authenticate(request, &state.accounts).await?;
    let key = idempotency_key::key(request.headers())?;
    preflight::check_any(state, &caller, key.as_deref(), 0).await?;
    Ok((caller, key))
}

/// Returns the response without its job, and the waiter for the job.
async fn submit(
    call: &Call<'_>,
    request: &HttpRequest,
    payload: web::Payload,
    version: &str,
    idempotency_key: Option<String>,
) -> Result<(View, Mode, JobWaiter), Refusal> {
    let (state, account) = (call.state, call.caller.account());
    let images = ImageHandling::Store(ImageFields::Data);
    let received =
        compat_body::receive(request, payload, state, account, images, call.deadline).await?;
    load_shedding::check(&state.generations, account).await?;
    let body = Body::parse(&received.text, version, &call.caller, &state.settings)?;
    let view = View {
        state: state.clone(),
        shape: Shape::of(request),
        model: Some(body.model),
        previous: body.previous,
        with_text: body.content.options.wants_text,
    };
    let mut generation = generation_request(body.content, received, idempotency_key)?;
    if body.mode == Mode::Background {
        generation.origin = Origin::Background;
    }
    let unknown = |job: JobId, _: &str| no_interaction(&job.to_string());
    let waiter = call.submit_continued(generation, unknown).await?;
    request_log::record_job(request, waiter.job);
    Ok((view, body.mode, waiter))
}

async fn show(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let (account, id) = authenticate(&request, &path.1, &state).await?;
    let mut query = url::form_urlencoded::parse(request.query_string().as_bytes());
    if query.any(|it| it == ("stream".into(), "true".into())) {
        let message = "must be false; repeat the call until the status is not `in_progress`";
        return Err(Refusal::field("stream", message));
    }
    let job = state.core.store.job(account, id).await?;
    respond(&request, &path.1, &state, job).await
}

async fn cancel(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let (account, id) = authenticate(&request, &path.1, &state).await?;
    let job = background_jobs::cancel(&state, account, id).await?;
    respond(&request, &path.1, &state, job).await
}

/// Deletes the image. An interaction that ended without one has nothing to delete.
async fn delete(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let (account, id) = authenticate(&request, &path.1, &state).await?;
    let job = state.core.store.job(account, id).await?;
    match job.ok_or_else(|| no_interaction(&path.1))?.state {
        JobState::Queued | JobState::Processing { .. } => {
            let message = format!(
                "the interaction is in progress; cancel it first: POST {}/cancel",
                request.path()
            );
            return Err(Refusal::new(Kind::Invalid, message));
        }
        JobState::Done { .. } => {
            deletion::delete(&state.jobs, &Caller::ApiKey(account), account, id).await?;
        }
        JobState::Failed { .. } => {}
    }
    Ok(no_store::json(json!({})))
}

/// Authenticates the caller, checks its rate limit and reads the id of the path.
async fn authenticate(
    request: &HttpRequest,
    id: &str,
    state: &CompatState,
) -> Result<(AccountId, JobId), Refusal> {
    let caller = auth::authenticate(request, &state.accounts).await?;
    caller.check_rate()?;
    let id = id.parse().map_err(|_| no_interaction(id))?;
    Ok((caller.account(), id))
}

/// Responds with the state of a job; `None` if the account has no job with this id.
async fn respond(
    request: &HttpRequest,
    id: &str,
    state: &web::Data<CompatState>,
    job: Option<Job>,
) -> CompatResult {
    let job = job.ok_or_else(|| no_interaction(id))?;
    let view = View::of_record(state, Shape::of(request));
    let image = match job.result_image() {
        Some(image) => Some(background_jobs::open(state, &job, image).await?),
        None => None,
    };
    let parts = view.parts(&job, image).await;
    Ok(image_response(Dialect::Gemini, false, parts, Vec::new()))
}
