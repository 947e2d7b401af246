//! Pictures and their thumbnails, from this very host: so the pages may load pictures from nowhere else.

use super::Panel;
use crate::application::commit::detached;
use crate::application::error;
use crate::application::jobs;
use crate::application::state::AppState;
use crate::image_decoding::RESULTS;
use crate::images::{FAULT_TARGET, ImagesError, media_type, thumbnail_key};
use crate::web::access::{OfAccount, part};
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use std::sync::Arc;
use tintype_imaging::{DecodePermit, decoding::open_any, encoding};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::ResultImage;

/// The longer side of a thumbnail, in pixels.
const SIDE: u32 = 480;
const QUALITY: u8 = 82;
/// A picture never changes.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

async fn image_of(
    of: &OfAccount,
    request: &HttpRequest,
    state: &AppState,
) -> Result<ResultImage, Problem> {
    let job = jobs::find(state, of.account.id, part(request, "job_id")).await?;
    let none = || Problem::new(Code::NotFound, "this job has no picture");
    job.picture().cloned().ok_or_else(none)
}

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

/// `GET /jobs/{job_id}/picture`
pub async fn picture(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let image = image_of(&of, &request, &state).await?;
    let found = state.images.reader(&image.key).await.map_err(problem)?;
    let name = image.key.rsplit('/').next().unwrap_or_default();
    Ok(HttpResponse::Ok()
        .content_type(media_type(&image.key))
        .insert_header((header::CACHE_CONTROL, FOR_EVER))
        .insert_header((
            header::CONTENT_DISPOSITION,
            format!("inline; filename=\"{name}\""),
        ))
        .streaming(found.into_stream().map_err(std::io::Error::other)))
}

/// `GET /jobs/{job_id}/thumbnail`: made at the first look, then kept beside the picture.
pub async fn thumbnail(
    of: OfAccount,
    request: HttpRequest,
    state: web::Data<AppState>,
    panel: web::Data<Panel>,
) -> Result<HttpResponse, Problem> {
    let image = image_of(&of, &request, &state).await?;
    let key = thumbnail_key(&image.key);
    let bytes = match state.images.get(&key).await {
        Ok(bytes) => bytes,
        Err(ImagesError::NotFound { .. }) => {
            make(&state, &panel, of.account.id, &image, &key).await?
        }
        Err(error) => return Err(problem(error)),
    };
    Ok(HttpResponse::Ok()
        .content_type("image/jpeg")
        .insert_header((header::CACHE_CONTROL, FOR_EVER))
        .body(bytes))
}

/// Makes a thumbnail and keeps it, also when whoever asked has left: so nobody makes it again, and no work goes on past its
/// place.
async fn make(
    state: &web::Data<AppState>,
    panel: &Panel,
    account: AccountId,
    image: &ResultImage,
    key: &str,
) -> Result<Bytes, Problem> {
    let place = Arc::clone(&panel.thumbnails).acquire_owned().await;
    let place = place.map_err(|_| error::busy())?;
    let (state, picture, key) = (state.clone(), image.key.clone(), key.to_owned());
    detached(async move {
        let _place = place;
        // Somebody else may have made it meanwhile.
        if let Ok(bytes) = state.images.get(&key).await {
            return Ok(bytes);
        }
        let whole = state.images.get(&picture).await.map_err(problem)?;
        let made = RESULTS
            .run(account, move |permit| shrink(permit, &whole))
            .await;
        let unreadable = || Problem::new(Code::NotFound, "this picture has no thumbnail");
        let bytes = Bytes::from(made.ok().flatten().ok_or_else(unreadable)?);
        if let Err(error) = state.images.put(&key, bytes.clone(), "image/jpeg").await {
            tracing::warn!(%key, %error, "a thumbnail could not be kept");
        }
        Ok(bytes)
    })
    .await
}

fn shrink(permit: &DecodePermit, bytes: &[u8]) -> Option<Vec<u8>> {
    let small = open_any(permit, bytes).ok()?.decode(SIDE).ok()?;
    encoding::jpeg(&small, small.whole(), QUALITY).ok()
}
