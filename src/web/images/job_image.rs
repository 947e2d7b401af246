//! Sends the image of a job from this host, so that the content security policy of a page can forbid images from other hosts, and the
//! browser need not reach the bucket.

use super::entity_tag;
use super::image_headers;
use super::thumbnail_query::{self, ThumbnailQuery};
use crate::application::error::image_fault;
use crate::application::images::thumbnails::{self, CreatedThumbnail};
use crate::application::services::JobService;
use crate::web::problem::{Code, HttpResult, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::TryStreamExt as _;
use tintype_storage::domain::job::Job;

/// The next user of the browser may not see the image, it may be deleted, and a job that runs again after a restore replaces it. So the
/// browser asks each time, and gets 304 if it has the image.
const CACHE_CHECKED: &str = "private, no-cache";

/// Responds with the image of a job; with `?width=` or `?format=` converted.
///
/// # Errors
/// The job has no image, the image was deleted, or the object store fails
pub async fn respond(request: &HttpRequest, jobs: &web::Data<JobService>, job: &Job) -> HttpResult {
    let none = || Problem::new(Code::NotFound, "this job has no image");
    let mut key = job.result_image().ok_or_else(none)?.key.clone();
    let ThumbnailQuery { thumbnail, .. } = thumbnail_query::parse(request.query_string());
    if let Some(thumbnail) = thumbnail.transpose()? {
        let created = match thumbnails::find(jobs, &key, thumbnail).await? {
            Some(stored) => CreatedThumbnail::Stored(stored),
            None => thumbnails::create(jobs, job.account, &key, thumbnail).await?,
        };
        key = match created {
            CreatedThumbnail::Stored(stored) => stored,
            CreatedThumbnail::Unstored(bytes) => {
                return Ok(thumbnail_query::respond_unstored(
                    request,
                    bytes,
                    &key,
                    thumbnail,
                    CACHE_CHECKED,
                ));
            }
        };
    }
    // A cached image costs no read of the object.
    if request.headers().contains_key(header::IF_NONE_MATCH) {
        let found = jobs.objects.head(&key).await.map_err(image_fault)?;
        let tag = entity_tag::of_object(&found);
        if entity_tag::is_not_modified(request, &tag) {
            let mut response = HttpResponse::NotModified();
            response.insert_header((header::CACHE_CONTROL, CACHE_CHECKED));
            return Ok(response.insert_header(header::ETag(tag)).finish());
        }
    }
    let found = jobs.objects.reader(&key).await.map_err(image_fault)?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CACHE_CONTROL, CACHE_CHECKED))
        .insert_header(header::ETag(entity_tag::of_object(&found.meta)));
    image_headers::insert(&mut response, &key);
    Ok(response.streaming(found.into_stream().map_err(std::io::Error::other)))
}
