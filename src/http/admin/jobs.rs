//! Shows and cancels a job of any account, and deletes its image.

use crate::api::responses;
use crate::application::core::Core;
use crate::application::image_deletion;
use crate::application::jobs;
use crate::application::services::JobService;
use crate::web::access::OperatorCall;
use crate::web::problem::{HttpResult, Problem};
use crate::web::query;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::job::Job;

/// Finds the job of the path. Without `account_id` in the query, the search reads many accounts.
async fn find(id: &str, request: &HttpRequest, core: &Core) -> Result<Job, Problem> {
    let id = jobs::read_id(id)?;
    let account = query::parsed(request, "account_id", query::id)?;
    Ok(jobs::find_in_all(core, account, id).await?)
}

/// `DELETE /jobs/{job_id}`: cancels a queued job.
pub async fn cancel(
    OperatorCall(caller): OperatorCall,
    path: web::Path<String>,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let Job { id, account, .. } = find(&path, &request, &jobs.core).await?;
    let job = jobs::cancel(&jobs, &caller, account, id).await?;
    Ok(HttpResponse::Ok().json(responses::job_record(&jobs, &job).await?))
}

/// `GET /jobs/{job_id}`
pub async fn show(
    _: OperatorCall,
    path: web::Path<String>,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let job = find(&path, &request, &jobs.core).await?;
    let record = responses::job_record(&jobs, &job).await?;
    let mut record = responses::for_operator(&jobs.core, &job, record);
    let store = &jobs.core.store;
    record.image_deleted = store.is_image_deleted(job.account, job.id).await?;
    Ok(HttpResponse::Ok().json(record))
}

/// `DELETE /jobs/{job_id}/image`
pub async fn delete_image(
    OperatorCall(caller): OperatorCall,
    path: web::Path<String>,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let Job { id, account, .. } = find(&path, &request, &jobs.core).await?;
    image_deletion::delete(&jobs, &caller, account, id).await?;
    Ok(HttpResponse::NoContent().finish())
}
