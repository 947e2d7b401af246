//! Pictures and their small forms, from this very host: so the pages may load pictures from nowhere else.

use crate::application::jobs;
use crate::application::picture_views;
use crate::application::state::AppState;
use crate::images::{FAULT_TARGET, ImagesError, media_type};
use crate::web::access::{OfAccount, path_segment};
use crate::web::picture_view::{self, ViewQuery};
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::TryStreamExt as _;

/// A picture never changes.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

fn problem(error: ImagesError) -> Problem {
    match error {
        ImagesError::NotFound { .. } => Problem::new(
            Code::Gone,
            "the picture has been removed: its retention time is over",
        ),
        error => {
            tracing::error!(target: FAULT_TARGET, %error, "a picture could not be read");
            Problem::new(
                Code::StorageUnavailable,
                "the picture could not be read; try again",
            )
        }
    }
}

/// `GET /jobs/{job_id}/preview`: how the picture of a running job looks by now; 204 where nothing is known of that. The back end
/// is asked for previews only while this is called.
pub async fn preview(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = jobs::find(&state, of.account.id, path_segment(&request, "job_id")).await?;
    Ok(match state.system.preview(job.id) {
        Some(preview) => HttpResponse::Ok()
            .content_type(preview.media_type)
            .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(preview.bytes.to_vec()),
        None => HttpResponse::NoContent().finish(),
    })
}

/// `GET /jobs/{job_id}/picture`: with `?width=` or `?format=` a small form of it.
pub async fn picture(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = jobs::find(&state, of.account.id, path_segment(&request, "job_id")).await?;
    let none = || Problem::new(Code::NotFound, "this job has no picture");
    let key = &job.picture().ok_or_else(none)?.key;
    let ViewQuery { view, .. } = picture_view::parse(request.query_string());
    if let Some(view) = view.transpose()? {
        let bytes = match picture_views::find(&state, key, view).await? {
            Some(bytes) => bytes,
            None => picture_views::create(&state, job.account, key, view).await?,
        };
        let cache = FOR_EVER.to_owned();
        return Ok(picture_view::respond(&request, bytes, key, view, cache));
    }
    let found = state.images.reader(key).await.map_err(problem)?;
    let name = key.rsplit('/').next().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .content_type(media_type(key))
        .insert_header((header::CACHE_CONTROL, FOR_EVER))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("inline; filename=\"{name}\""),
        ))
        .streaming(found.into_stream().map_err(std::io::Error::other)))
}
