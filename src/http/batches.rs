//! Batches: many requests in one call.

use super::long_poll;
use crate::api::batch_form::Form;
use crate::api::responses;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::jobs::batches::{self, BatchWithProgress};
use crate::application::services::{AccountService, GenerationService, JobService};
use crate::application::submission::load_shedding;
use crate::web::auth::Principal;
use crate::web::body::{self, BodyFault, MediaType};
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use crate::web::queries::paging;
use crate::web::submissions::batch_call;
use crate::web::submissions::batch_lines;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::batch::BatchStatus;

pub async fn create(
    principal: Principal,
    request: HttpRequest,
    payload: web::Payload,
    generations: web::Data<GenerationService>,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let caller = &principal.caller;
    let account = caller.account();
    load_shedding::check(&generations, account).await?;
    let form = match body::media_type(&request)? {
        Some(MediaType::Json) => Form::Json,
        Some(MediaType::Lines) => Form::Lines,
        None => {
            let expected = "send the body as `Content-Type: application/json`, or as `application/x-ndjson` with one request per line";
            return Err(BodyFault::Unsupported(expected).into());
        }
    };
    let body = batch_call::receive(&request, payload, &generations, account, 0).await?;
    let parsed = batch_call::parse(&generations, account, body, move |_| Ok(form)).await?;
    batch_call::submit(&jobs, &generations, caller, &request, parsed).await
}

pub async fn list(
    principal: Principal,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let window = paging::window(&request)?;
    principal.admit()?;
    let page = batches::page_of(&jobs.core, principal.caller.account(), window).await?;
    Ok(no_store::json(responses::batches(&jobs, page).await))
}

/// Responds at once, or waits for the end of the batch if the caller asks for it.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
    accounts: web::Data<AccountService>,
) -> HttpResult {
    let (batch, progress) = find(&principal, &path, &jobs.core).await?;
    let wait = long_poll::requested_wait(&request)?;
    principal.admit()?;
    let progress = match wait
        .filter(|it| !it.duration().is_zero() && progress.status() != BatchStatus::Ended)
    {
        Some(wait) => {
            let _waiting = accounts.limits.admit_waiting(batch.account)?;
            let progress = batches::wait_until_ended(&jobs.core, &batch, wait.duration()).await?;
            principal.recheck(&request, &accounts).await?;
            progress
        }
        None => progress,
    };
    let mut response = respond(&jobs, &(batch, progress)).await;
    if let Some(wait) = wait {
        wait.write_header(response.headers_mut());
    }
    Ok(response)
}

/// Cancels the queued jobs.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let (batch, _) = find(&principal, &path, &jobs.core).await?;
    principal.admit()?;
    let caller = Caller::ApiKey(principal.caller.account());
    let batch = batches::cancel(&jobs, &caller, batch).await?;
    Ok(respond(&jobs, &batch).await)
}

/// Another account's batch is reported as not found.
async fn find(
    principal: &Principal,
    path: &str,
    core: &Core,
) -> Result<BatchWithProgress, Problem> {
    Ok(batches::find(core, principal.caller.account(), path).await?)
}

async fn respond(jobs: &JobService, batch: &BatchWithProgress) -> HttpResponse {
    no_store::json(responses::batch(jobs, batch).await)
}

/// One line per request, in their order.
pub async fn results(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let (batch, _) = find(&principal, &path, &jobs.core).await?;
    principal.admit()?;
    Ok(batch_lines::results(&request, jobs, batch))
}
