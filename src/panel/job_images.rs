//! Images and previews of jobs.

use crate::application::core::Core;
use crate::application::services::JobService;
use crate::web::auth::access::OfJob;
use crate::web::images::job_image;
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, HttpResponse, web};

/// The unfinished image of a running job; 204 without one. Calls to this path make the backend send
/// previews.
pub async fn preview(OfJob { job, .. }: OfJob, core: web::Data<Core>) -> HttpResult {
    Ok(match core.system.preview(job.id) {
        Some(preview) => HttpResponse::Ok()
            .content_type(preview.media_type)
            .body(preview.bytes.to_vec()),
        None => HttpResponse::NoContent().finish(),
    })
}

/// Converts the image for `?width=` or `?format=`.
pub async fn image(of: OfJob, request: HttpRequest, jobs: web::Data<JobService>) -> HttpResult {
    job_image::respond(&request, &jobs, &of.job).await
}
