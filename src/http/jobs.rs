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

/// `GET /jobs/{job_id}`, at once or, when the caller asks for that, once the job is terminal.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let found = find(&principal, &path, &state).await?;
    let patience = long_poll::asked(&request)?;
    principal.admit()?;
    let job = match patience.filter(|_| !found.state.is_terminal()) {
        Some(patience) => jobs::until_terminal(&state, found, patience.span()).await?,
        None => found,
    };
    let mut response = answer(&state, &job).await?;
    if let Some(patience) = patience {
        patience.tell(response.headers_mut());
    }
    Ok(response)
}

/// The caller's job of a path; one of another account is not told apart from one that does not exist.
pub async fn find(principal: &Principal, path: &str, state: &AppState) -> Result<Job, Problem> {
    Ok(jobs::find(state, principal.caller.account(), path).await?)
}

/// `DELETE /jobs/{job_id}`: cancels a job that is still queued.
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
    answer(&state, &job).await
}

async fn answer(state: &AppState, job: &Job) -> Result<HttpResponse, Problem> {
    let view = view(state, job).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(view))
}

/// A job as the lookup tells it, with a download URL of this moment.
pub async fn view<'a>(state: &AppState, job: &'a Job) -> Result<tintype_api::Job<'a>, Problem> {
    listed_view(state, job, &QueueEstimates::now(state)).await
}

/// The same for one of many jobs.
pub async fn listed_view<'a>(
    state: &AppState,
    job: &'a Job,
    estimates: &QueueEstimates<'_>,
) -> Result<tintype_api::Job<'a>, Problem> {
    let image_url = jobs::image_url(state, job).await?;
    let waiting = estimates.waiting(job);
    Ok(tintype_api::Job::new(job, image_url, waiting))
}
