//! Images and previews of jobs.

use super::jobs::find;
use crate::application::core::Core;
use crate::application::services::JobService;
use crate::web::access::OfAccount;
use crate::web::job_image;
use crate::web::problem::HttpResult;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};

/// `GET /jobs/{job_id}/preview`: the unfinished image of a running job; 204 without one. Calls to this path make the backend send
/// previews.
pub async fn preview(of: OfAccount, request: HttpRequest, core: web::Data<Core>) -> HttpResult {
    let job = find(&of, &request, &core).await?;
    Ok(match core.system.preview(job.id) {
        Some(preview) => HttpResponse::Ok()
            .content_type(preview.media_type)
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(preview.bytes.to_vec()),
        None => HttpResponse::NoContent().finish(),
    })
}

/// `GET /jobs/{job_id}/picture`: with `?width=` or `?format=` a converted image.
pub async fn image(of: OfAccount, request: HttpRequest, jobs: web::Data<JobService>) -> HttpResult {
    let job = find(&of, &request, &jobs.core).await?;
    job_image::respond(&request, &jobs, &job).await
}
