//! Job lookup, cancellation, and deletion of images.

use super::long_poll;
use crate::api::job_views::JobViews;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::images::deletion;
use crate::application::jobs;
use crate::application::services::{AccountService, JobService};
use crate::web::auth::Principal;
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use actix_web::{HttpRequest, web};
use tintype_storage::domain::job::Job;

/// Responds at once, or waits for the end of the job if the caller asks for it.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let found = find(&principal, &path, &jobs.core).await?;
    let wait = long_poll::requested_wait(&request)?;
    principal.admit()?;
    let job = match wait.filter(|it| !it.duration().is_zero() && !found.state.is_terminal()) {
        Some(wait) => {
            let _waiting = accounts.limits.admit_waiting(found.account)?;
            let job = jobs::wait_until_terminal(&jobs.core, found, wait.duration()).await?;
            principal.recheck(&request, &accounts).await?;
            job
        }
        None => found,
    };
    let mut response = respond(&jobs, &job).await?;
    if let Some(wait) = wait {
        wait.write_header(response.headers_mut());
    }
    Ok(response)
}

/// Another account's job is reported as not found.
pub async fn find(principal: &Principal, path: &str, core: &Core) -> Result<Job, Problem> {
    Ok(jobs::find(core, principal.caller.account(), path).await?)
}

/// Cancels a queued job.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let id = find(&principal, &path, &jobs.core).await?.id;
    principal.admit()?;
    let account = principal.caller.account();
    let caller = Caller::ApiKey(account);
    let job = jobs::cancel(&jobs, &caller, account, id).await?;
    respond(&jobs, &job).await
}

pub async fn delete_image(
    principal: Principal,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let Job { id, account, .. } = find(&principal, &path, &jobs.core).await?;
    principal.admit()?;
    let caller = Caller::ApiKey(account);
    deletion::delete(&jobs, &caller, account, id).await?;
    Ok(no_store::no_content())
}

async fn respond(jobs: &JobService, job: &Job) -> HttpResult {
    Ok(no_store::json(JobViews::of(jobs).lookup(job).await?))
}
