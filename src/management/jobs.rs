//! Lists, shows and cancels jobs of all accounts, deletes their images, and erases their content.

use crate::api::job_views::JobViews;
use crate::api::responses;
use crate::application::erasure;
use crate::application::images::deletion;
use crate::application::jobs;
use crate::application::jobs::filter::JobFilter;
use crate::application::jobs::list;
use crate::application::services::JobService;
use crate::web::auth::access::{OfJob, OperatorCall, OperatorOnly};
use crate::web::problem::{HttpResult, Problem};
use crate::web::queries::job_query;
use crate::web::queries::paging::{self, Page};
use crate::web::queries::query;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::future::try_join_all;
use tintype_api::JobRecord;
use tintype_storage::domain::job::Job;
use tintype_storage::store;

/// Includes the parameter names of `GET /api/v1/jobs`.
const NAMES: &[&str] = &[
    "account_id",
    "status",
    "tier",
    "mode",
    "key_id",
    "batch_id",
    "from",
    "to",
    "key",
    "created_after",
    "created_before",
    "metadata[]",
];

pub async fn list(
    _: OperatorCall,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let page = page(&request, &jobs).await?;
    let views = JobViews::of(&jobs);
    let records = page.items.iter().map(|job| views.listed(job));
    let data = try_join_all(records).await?;
    Ok(HttpResponse::Ok().json(Page::of(data, page.next)))
}

pub async fn page(
    request: &HttpRequest,
    jobs: &web::Data<JobService>,
) -> Result<store::Page<Job>, Problem> {
    let (mut account, mut filter) = (None, JobFilter::default());
    let window = paging::filtered_window(request, NAMES, |name, value| match name {
        "account_id" => query::id(name, value).map(|id| account = Some(id)),
        _ => job_query::read(&mut filter, name, value),
    })?;
    Ok(list::page_of_all(jobs, account, window, filter).await?)
}

pub async fn show(of: OfJob, jobs: web::Data<JobService>) -> HttpResult {
    let record = JobViews::of(&jobs).record(&of.job).await?;
    let store = &jobs.core.store;
    let record = JobRecord {
        image_deleted: store.is_image_deleted(of.job.account, of.job.id).await?,
        ..responses::for_operator(&jobs.core, &of.job, record).await?
    };
    Ok(HttpResponse::Ok().json(record))
}

/// Cancels a queued job.
pub async fn cancel(of: OfJob, jobs: web::Data<JobService>) -> HttpResult {
    let job = jobs::cancel(&jobs, &of.caller, of.job.account, of.job.id).await?;
    Ok(HttpResponse::Ok().json(JobViews::of(&jobs).listed(&job).await?))
}

pub async fn delete_image(of: OfJob, jobs: web::Data<JobService>) -> HttpResult {
    deletion::delete(&jobs, &of.caller, of.job.account, of.job.id).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn erase(of: OperatorOnly<OfJob>, jobs: web::Data<JobService>) -> HttpResult {
    let job = &of.named.job;
    erasure::jobs::erase(&jobs, &of.caller, job.account, job.id).await?;
    Ok(HttpResponse::NoContent().finish())
}
