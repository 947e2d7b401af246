//! Jobs with the names of their keys and, for the operator, of their accounts.

use super::batches;
use super::names::Names;
use crate::api::job_views::JobViews;
use crate::api::responses;
use crate::application::core::Core;
use crate::application::error::Error;
use crate::application::images::favourites;
use crate::application::images::interrupted_deletions;
use crate::application::images::retention;
use crate::application::jobs::list;
use crate::application::services::JobService;
use crate::management;
use crate::objects::FAULT_TARGET;
use crate::web::auth::access::{OfAccount, OfJob, OperatorCall, path_segment};
use crate::web::problem::HttpResult;
use crate::web::queries::job_query;
use crate::web::queries::paging::Page;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::try_join_all;
use serde::Serialize;
use tintype_api::JobRecord;
use tintype_api::text::{Moment, Money};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::job::{Job, JobStatus};
use tintype_storage::store::{StoreError, StoredJob};

pub async fn list_jobs(of: OfAccount, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let (window, filter) = job_query::of_panel(&request)?;
    let found = list::page_of(&jobs, of.account.id, window, &filter).await?;
    let read = found.jobs.iter().map(StoredJob::read);
    let found_jobs = read.collect::<Result<Vec<Job>, StoreError>>()?;
    let (views, store) = (&JobViews::of(&jobs), &jobs.core.store);
    let views = found_jobs.iter().map(|job| async move {
        Ok::<_, Error>(JobListItem {
            record: views.listed(job).await?,
            favourite: store.is_favourite(job.account, job.id).await?,
        })
    });
    let data = try_join_all(views).await?;
    let next = found.next.map(|id| *id.as_bytes());
    let behind = found.index_behind.map(|it| IndexBehind {
        until: it.until.map(Moment::from),
    });
    Ok(HttpResponse::Ok().json(SearchPage {
        page: Page::of(data, next),
        scanned: found.scanned,
        index_behind: behind,
    }))
}

#[derive(Serialize)]
struct SearchPage<T> {
    #[serde(flatten)]
    page: Page<T>,
    /// The number of jobs that the service read for this page.
    scanned: usize,
    /// Set while the search index is being built.
    #[serde(skip_serializing_if = "Option::is_none")]
    index_behind: Option<IndexBehind>,
}

#[derive(Serialize)]
struct IndexBehind {
    /// The index contains the jobs up to this time; `None`: no jobs yet.
    until: Option<Moment>,
}

#[derive(Serialize)]
struct JobListItem<'a> {
    #[serde(flatten)]
    record: JobRecord<'a>,
    favourite: bool,
}

/// The jobs of all accounts.
pub async fn list_all(_: OperatorCall, request: HttpRequest, jobs: Data<JobService>) -> HttpResult {
    let page = management::jobs::page(&request, &jobs).await?;
    let data = with_account_names(&jobs, &page.items).await?;
    Ok(HttpResponse::Ok().json(Page::of(data, page.next)))
}

/// Renders jobs of several accounts.
pub async fn with_account_names<'a>(
    service: &JobService,
    jobs: &'a [Job],
) -> Result<Vec<JobWithAccount<'a>>, Error> {
    let (views, mut names) = (JobViews::of(service), Names::default());
    let mut data = Vec::with_capacity(jobs.len());
    for job in jobs {
        data.push(JobWithAccount {
            record: views.listed(job).await?,
            account_name: names.account(&service.core, job.account).await?,
        });
    }
    Ok(data)
}

#[derive(Serialize)]
pub struct JobWithAccount<'a> {
    #[serde(flatten)]
    record: JobRecord<'a>,
    /// `None` if the account was deleted.
    account_name: Option<String>,
}

pub async fn show_job(OfJob { caller, job }: OfJob, jobs: Data<JobService>) -> HttpResult {
    let core = &jobs.core;
    let record = JobViews::of(&jobs).record(&job).await?;
    let key = core.store.key(job.key).await?;
    let favourite = core.store.is_favourite(job.account, job.id).await?;
    let input_urls = batches::input_urls(&jobs, &job).await.unwrap_or_else(|error| {
        tracing::error!(target: FAULT_TARGET, job = %job.id, %error, "could not read the input URLs of a job");
        Vec::new()
    });
    let record = match caller.is_operator() {
        true => responses::for_operator(core, &job, record).await?,
        false => record,
    };
    let refundable = match caller.is_operator() && job.state.status() == JobStatus::Done {
        true => core.store.refundable(&job).await?,
        false => Amount::ZERO,
    };
    Ok(HttpResponse::Ok().json(JobDetails {
        record,
        refundable: (!refundable.is_zero()).then(|| refundable.into()),
        key: key.map(|(_, key)| NamedKey {
            name: key.name,
            prefix: key.text_prefix,
        }),
        input_urls,
        favourite,
        image_deleted: interrupted_deletions::is_complete(&jobs, &job).await?,
        kept_until: retention::kept_until(&jobs.settings, &job, favourite).map(Moment::from),
        progress: core.system.progress(job.id),
    }))
}

/// A struct rather than a JSON value, so that the caller's metadata keeps its digits and its order.
#[derive(Serialize)]
struct JobDetails<'a> {
    #[serde(flatten)]
    record: JobRecord<'a>,
    /// For the operator: what is left to refund of the charge. `None` if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    refundable: Option<Money>,
    /// `None` if the key was deleted.
    key: Option<NamedKey>,
    /// The URLs of the input images, for a job of a batch.
    input_urls: Vec<String>,
    favourite: bool,
    /// The image was deleted on demand, and is gone.
    image_deleted: bool,
    /// When retention deletes the image; `None`: never.
    kept_until: Option<Moment>,
    progress: Option<f32>,
}

#[derive(Serialize)]
struct NamedKey {
    name: String,
    prefix: String,
}

pub async fn add_favourite(
    of: OfAccount,
    request: HttpRequest,
    jobs: Data<JobService>,
) -> HttpResult {
    let id = path_segment(&request, "job_id");
    favourites::add(&jobs, &of.caller, of.account.id, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

pub async fn remove_favourite(of: OfAccount, request: HttpRequest, core: Data<Core>) -> HttpResult {
    let id = path_segment(&request, "job_id");
    favourites::remove(&core, &of.caller, of.account.id, id).await?;
    Ok(HttpResponse::NoContent().finish())
}
