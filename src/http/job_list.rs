//! `GET /jobs`: the account's jobs, newest first, filtered.

use crate::api::job_views::JobViews;
use crate::application::jobs::{image_url, list};
use crate::application::services::JobService;
use crate::web::auth::Principal;
use crate::web::no_store;
use crate::web::problem::HttpResult;
use crate::web::queries::job_query;
use actix_web::{HttpRequest, web};
use tintype_api::JobPage;

pub async fn list(
    principal: Principal,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let (window, filter) = job_query::from_request(&request)?;
    principal.admit()?;
    let account = principal.caller.account();
    let found = list::page_of(&jobs, account, window, &filter).await?;
    let views = JobViews::of(&jobs);
    let mut page = JobPage::of(found.jobs.len());
    for stored in &found.jobs {
        let job = stored.read_in_place()?;
        let image_url = image_url(&jobs, &job).await?;
        page.add(&job, image_url.as_deref(), views.waiting(&job));
    }
    Ok(no_store::written_json(page.end(found.next.map(|id| id.0))))
}
