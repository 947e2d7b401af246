//! `GET /jobs`: the account's jobs, newest first, filtered.

use crate::api::job_views::JobViews;
use crate::application::error;
use crate::application::jobs::list;
use crate::application::services::JobService;
use crate::web::auth::Principal;
use crate::web::no_store;
use crate::web::problem::{HttpResult, Problem};
use crate::web::queries::job_query;
use crate::web::queries::paging::Listing;
use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, web};
use tintype_api::ListedJob;

/// More than most entries take, so that the body is allocated once.
const ENTRY_BYTES: usize = 1_024;

pub async fn list(
    principal: Principal,
    request: HttpRequest,
    jobs: web::Data<JobService>,
) -> HttpResult {
    let (window, filter) = job_query::of(&request)?;
    principal.admit()?;
    let account = principal.caller.account();
    let found = list::page_of(&jobs, account, window, &filter).await?;
    let views = JobViews::of(&jobs);
    let mut data = Vec::with_capacity(found.jobs.len());
    for job in &found.jobs {
        data.push(ListedJob::new(job, views.lookup(job).await?));
    }
    let mut body = Vec::with_capacity(ENTRY_BYTES * (data.len() + 1));
    let listing = Listing::of(data, found.next.map(|id| *id.as_bytes()));
    serde_json::to_writer(&mut body, &listing).map_err(|_| Problem::from(error::internal()))?;
    Ok(no_store::ok().content_type(ContentType::json()).body(body))
}
