//! Job lookup and cancellation.

use super::long_poll;
use crate::application::caller::Caller;
use crate::application::jobs;
use crate::application::queue_estimate::QueueEstimates;
use crate::application::state::AppState;
use crate::web::auth::Principal;
use crate::web::problem::Problem;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::job::Job;

/// `GET /jobs/{job_id}`: responds at once, or waits for the end of the job if the caller asks for it.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let found = find(&principal, &path, &state).await?;
    let wait = long_poll::requested_wait(&request)?;
    principal.admit()?;
    let job = match wait.filter(|_| !found.state.is_terminal()) {
        Some(wait) => jobs::wait_until_terminal(&state, found, wait.duration()).await?,
        None => found,
    };
    let mut response = respond(&state, &job).await?;
    if let Some(wait) = wait {
        wait.write_header(response.headers_mut());
    }
    Ok(response)
}

/// Another account's job is reported as not found.
pub async fn find(principal: &Principal, path: &str, state: &AppState) -> Result<Job, Problem> {
    Ok(jobs::find(state, principal.caller.account(), path).await?)
}

/// `DELETE /jobs/{job_id}`: cancels a queued job.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id = find(&principal, &path, &state).await?.id;
    principal.admit()?;
    let account = principal.caller.account();
    let caller = Caller::ApiKey(principal.caller);
    let job = jobs::cancel(&state, &caller, account, id).await?;
    respond(&state, &job).await
}

async fn respond(state: &AppState, job: &Job) -> Result<HttpResponse, Problem> {
    let view = view(state, job).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(response.json(view))
}

/// The job in the form of the lookup, with a fresh download URL.
pub async fn view<'a>(state: &AppState, job: &'a Job) -> Result<tintype_api::Job<'a>, Problem> {
    listed_view(state, job, &QueueEstimates::now(state)).await
}

/// [`view`] for a list of jobs.
pub async fn listed_view<'a>(
    state: &AppState,
    job: &'a Job,
    estimates: &QueueEstimates<'_>,
) -> Result<tintype_api::Job<'a>, Problem> {
    let image_url = jobs::image_url(state, job).await?;
    let waiting = estimates.waiting(job);
    Ok(tintype_api::Job::new(job, image_url, waiting))
}
