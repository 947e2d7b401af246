//! Downloads of images and scaled-down views by signed URLs.

use crate::application::images::views::{self, CreatedView};
use crate::application::jobs;
use crate::application::services::JobService;
use crate::objects::job_of_result;
use crate::web::images::file_download::{self, no_such_file};
use crate::web::images::image_view::{self, ViewQuery};
use crate::web::problem::HttpResult;
use actix_web::{HttpRequest, web};

/// `GET /files/...`
pub async fn show(request: HttpRequest, jobs: web::Data<JobService>) -> HttpResult {
    let now = jobs.core.now().to_datetime();
    let ViewQuery { view, rest } = image_view::parse(request.query_string());
    let Some(view) = view else {
        return file_download::respond(&request, &jobs.objects, now).await;
    };
    let mut grant = file_download::grant(&request, &rest, &jobs.objects, now)?;
    // Checked after the signature, so that an unsigned URL reveals nothing.
    let view = view?;
    let id = job_of_result(&grant.key).ok_or_else(no_such_file)?;
    let created = match views::find(&jobs, &grant.key, view).await? {
        Some(key) => CreatedView::Stored(key),
        None => {
            // The account is needed for fairness.
            let job = jobs::find_in_all(&jobs.core, None, id).await?;
            views::create(&jobs, job.account, &grant.key, view).await?
        }
    };
    match created {
        CreatedView::Stored(key) => {
            grant.key = key;
            file_download::send(&request, &jobs.objects, grant).await
        }
        CreatedView::Unstored(bytes) => {
            let cache = format!("private, max-age={}", grant.remaining_seconds);
            let image = &grant.key;
            Ok(image_view::respond_unstored(
                &request, bytes, image, view, &cache,
            ))
        }
    }
}
