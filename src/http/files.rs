//! Downloads of images and thumbnails by signed URLs.

use crate::application::images::thumbnails::{self, CreatedThumbnail};
use crate::application::jobs;
use crate::application::services::JobService;
use crate::objects::job_of_result;
use crate::web::images::file_download::{self, no_such_file};
use crate::web::images::thumbnail_query::{self, ThumbnailQuery};
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, web};

pub async fn show(request: HttpRequest, jobs: web::Data<JobService>) -> HttpResult {
    let now = jobs.core.now().to_datetime();
    let ThumbnailQuery { thumbnail, rest } = thumbnail_query::parse(request.query_string());
    let Some(thumbnail) = thumbnail else {
        return file_download::respond(&request, &jobs.objects, now).await;
    };
    let mut grant = file_download::grant(&request, &rest, &jobs.objects, now)?;
    // Checked after the signature, so that an unsigned URL reveals nothing.
    let thumbnail = thumbnail?;
    let id = job_of_result(&grant.key).ok_or_else(no_such_file)?;
    let created = match thumbnails::find(&jobs, &grant.key, thumbnail).await? {
        Some(key) => CreatedThumbnail::Stored(key),
        None => {
            // The account is needed for fairness.
            let job = jobs::find_in_all(&jobs.core, None, id).await?;
            thumbnails::create(&jobs, job.account, &grant.key, thumbnail).await?
        }
    };
    match created {
        CreatedThumbnail::Stored(key) => {
            grant.key = key;
            file_download::send(&request, &jobs.objects, grant).await
        }
        CreatedThumbnail::Unstored(bytes) => {
            let cache = format!("private, max-age={}", grant.remaining_seconds);
            let image = &grant.key;
            Ok(thumbnail_query::respond_unstored(
                &request, bytes, image, thumbnail, &cache,
            ))
        }
    }
}
