//! Responses that exist: jobs of the account, of any interface.

use super::object::ResponseObject;
use crate::compat::base64_body::Part;
use crate::compat::dialect::Dialect;
use crate::compat::jobs::background_jobs;
use crate::compat::openai::object_calls::authenticate;
use crate::compat::openai::object_ids::{no_such_response, parse_response_id};
use crate::compat::refusal::{CompatResult, Kind, Refusal};
use crate::compat::response_head::image_response;
use crate::compat::state::CompatState;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::job::Job;

pub async fn show(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let mut query = url::form_urlencoded::parse(request.query_string().as_bytes());
    if query.any(|it| it == ("stream".into(), "true".into())) {
        let message = "is not supported here; get the response until its status is `completed`";
        return Err(Refusal::field("stream", message));
    }
    let job = match parse_response_id(&path) {
        Some(id) => state.core.store.job(caller.account(), id).await?,
        None => None,
    };
    let job = job.ok_or_else(|| no_such_response(&path))?;
    respond(&state, job).await
}

/// Cancels a queued job. A job that has started continues, and one that has ended stays as it is.
pub async fn cancel(
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<CompatState>,
) -> CompatResult {
    let caller = authenticate(&request, &state).await?;
    let job = match parse_response_id(&path) {
        Some(id) => background_jobs::cancel(&state, caller.account(), id).await?,
        None => None,
    };
    let job = job.ok_or_else(|| no_such_response(&path))?;
    respond(&state, job).await
}

pub async fn refuse_deletion() -> CompatResult {
    let message = "responses cannot be deleted; delete an image with DELETE /api/v1/jobs/{job_id}/image, where the id of the response without `resp_` is the job_id";
    Err(Refusal::new(Kind::NotFound, message))
}

pub async fn refuse_input_items() -> CompatResult {
    let message = "input items are not stored; GET /api/v1/jobs lists the jobs with their prompts";
    Err(Refusal::new(Kind::NotFound, message))
}

async fn respond(state: &CompatState, job: Job) -> Result<HttpResponse, Refusal> {
    let object = ResponseObject::of_job(state, job).await;
    let parts = parts(state, &object).await?;
    Ok(image_response(Dialect::OpenAi, false, parts, Vec::new()))
}

/// The object in the state of its job.
///
/// # Errors
/// The image was deleted, or the object store fails.
pub async fn parts(state: &CompatState, object: &ResponseObject) -> Result<Vec<Part>, Refusal> {
    let job = &object.job;
    Ok(match job.result_image() {
        Some(image) => object.parts(Some((
            image,
            background_jobs::open(state, job, image).await?,
        ))),
        None => object.parts(None),
    })
}
