//! Pictures and thumbnails. This host serves them, so the content security policy can forbid images from other hosts.

use crate::application::core::Core;
use crate::application::jobs;
use crate::application::picture_views;
use crate::application::services::JobService;
use crate::images::{FAULT_TARGET, ImagesError, media_type};
use crate::web::access::{OfAccount, path_segment};
use crate::web::picture_view::{self, ViewQuery};
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::TryStreamExt as _;

/// A picture never changes.
const CACHE_FOREVER: &str = "private, max-age=31536000, immutable";

fn image_problem(error: ImagesError) -> Problem {
    match error {
        ImagesError::NotFound { .. } => {
            Problem::new(Code::Gone, "retention has deleted the picture")
        }
        error => {
            tracing::error!(target: FAULT_TARGET, %error, "could not read a picture");
            Problem::new(
                Code::StorageUnavailable,
                "the picture could not be read; try again",
            )
        }
    }
}

/// `GET /jobs/{job_id}/preview`: the unfinished picture of a running job; 204 without one. Calls to this path make the backend send
/// previews.
pub async fn preview(
    of: OfAccount,
    request: HttpRequest,
    core: web::Data<Core>,
) -> Result<HttpResponse, Problem> {
    let job = jobs::find(&core, of.account.id, path_segment(&request, "job_id")).await?;
    Ok(match core.system.preview(job.id) {
        Some(preview) => HttpResponse::Ok()
            .content_type(preview.media_type)
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(preview.bytes.to_vec()),
        None => HttpResponse::NoContent().finish(),
    })
}

/// `GET /jobs/{job_id}/picture`: with `?width=` or `?format=` a converted picture.
pub async fn picture(
    of: OfAccount,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> Result<HttpResponse, Problem> {
    let job = jobs::find(&jobs.core, of.account.id, path_segment(&request, "job_id")).await?;
    let none = || Problem::new(Code::NotFound, "this job has no picture");
    let key = &job.picture().ok_or_else(none)?.key;
    let ViewQuery { view, .. } = picture_view::parse(request.query_string());
    if let Some(view) = view.transpose()? {
        let bytes = match picture_views::find(&jobs, key, view).await? {
            Some(bytes) => bytes,
            None => picture_views::create(&jobs, job.account, key, view).await?,
        };
        let cache = CACHE_FOREVER.to_owned();
        return Ok(picture_view::respond(&request, bytes, key, view, cache));
    }
    let found = jobs.images.reader(key).await.map_err(image_problem)?;
    let name = key.rsplit('/').next().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .content_type(media_type(key))
        .insert_header((header::CACHE_CONTROL, CACHE_FOREVER))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("inline; filename=\"{name}\""),
        ))
        .streaming(found.into_stream().map_err(std::io::Error::other)))
}
