//! Jobs of any account, with filters, and one of them with all that is on record.

use crate::api::job_record::JobRecord;
use crate::application::audit_context::{Subject, to_audit_entry};
use crate::application::error;
use crate::application::state::AppState;
use crate::http::job_list::{self, Filter};
use crate::http::jobs::{cancel_job, not_found};
use crate::web::auth::Operator;
use crate::web::paging::{Listing, Window};
use crate::web::problem::{FieldFault, Problem};
use crate::web::query;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::future::join_all;
use serde_json::json;
use std::cell::RefCell;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, JobId, moment_of};
use tintype_storage::domain::job::Job;
use tintype_storage::store::{JobPage, JobWindow};
use tokio::runtime::Handle;

/// Jobs looked at for one page when a filter lets few through; the cursor then goes on from there.
const MAX_LOOKED_AT: usize = 10_000;
/// The same where their metadata counts, some of which has to be fetched from the object store.
const MAX_METADATA_READ: usize = 500;

/// Parameters of the list. Those of `GET /api/v1/jobs` are taken as well.
const NAMES: &[&str] = &[
    "account_id",
    "status",
    "tier",
    "mode",
    "key_id",
    "from",
    "to",
    "key",
    "created_after",
    "created_before",
    "metadata[]",
];

/// `GET /jobs`. Read on the blocking pool: a filter may look at many.
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let (mut account, mut filter) = (None, Filter::default());
    let window = Window::filtered(&request, NAMES, |name, value| match name {
        "account_id" => take_account(&mut account, value),
        _ => filter.read(name, value).err(),
    })?;
    let (since, below) = filter.moments();
    let window = JobWindow {
        after: window.after,
        part: filter.part(),
        since,
        below,
        ..JobWindow::first(
            window.limit,
            match filter.metadata.is_empty() {
                true => MAX_LOOKED_AT,
                false => MAX_METADATA_READ,
            },
        )
    };
    let shared = state.clone();
    let read = move || sift(&shared, account, &filter, window);
    let page = web::block(read).await.map_err(|_| error::busy())??;
    let told = page.items.iter().map(|job| JobRecord::listed(&state, job));
    let data = join_all(told).await.into_iter().collect::<Result<_, _>>()?;
    Ok(HttpResponse::Ok().json(Listing::of(data, page.next)))
}

fn take_account(account: &mut Option<AccountId>, value: &str) -> Option<FieldFault> {
    *account = value.parse().ok();
    let fault = || FieldFault::new("account_id", "must be an id");
    account.is_none().then(fault)
}

/// Blocks, also for what it fetches.
fn sift(
    state: &AppState,
    account: Option<AccountId>,
    filter: &Filter,
    window: JobWindow,
) -> Result<JobPage, Problem> {
    let fault = RefCell::new(None);
    let lets = |job: &Job| {
        if !filter.takes(job) || filter.metadata.is_empty() {
            return filter.takes(job);
        }
        let metadata = Handle::current().block_on(job_list::metadata_of(state, job));
        let metadata = metadata.unwrap_or_else(|problem| {
            fault.replace(Some(problem));
            None
        });
        metadata.is_some_and(|text| filter.takes_metadata(&text))
    };
    let page = match account {
        Some(account) => state.store.sifted_jobs_of(account, window, lets),
        None => state.store.all_jobs(window, lets),
    };
    match fault.into_inner() {
        Some(problem) => Err(problem),
        None => Ok(page?),
    }
}

/// The job of a path, of whichever account. Looked for on the blocking pool: unless the query names the account, there may be
/// many to ask.
async fn find(
    id: &str,
    request: &HttpRequest,
    state: &web::Data<AppState>,
) -> Result<Job, Problem> {
    let id: JobId = id.parse().map_err(|_| not_found())?;
    // No job has an id that tells no moment.
    moment_of(&id.0).ok_or_else(not_found)?;
    let mut account = None;
    let named = query::value(request, "account_id");
    let fault = match named {
        Ok(Some(named)) => take_account(&mut account, &named),
        Ok(None) => None,
        Err(fault) => Some(fault),
    };
    if let Some(fault) = fault {
        return Err(Problem::validation(vec![fault]));
    }
    let store = state.store.clone();
    let found = web::block(move || match account {
        Some(account) => store.job(account, id),
        None => store.find_job(id),
    })
    .await;
    found.map_err(|_| error::busy())??.ok_or_else(not_found)
}

/// `DELETE /jobs/{job_id}`: cancels a job that is still queued, as the account itself can.
pub async fn cancel(
    operator: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let Job { id, account, .. } = find(&path, &request, &state).await?;
    let job = cancel_noted(&state, &operator, account, id).await?;
    Ok(HttpResponse::Ok().json(JobRecord::looked_up(&state, &job).await?))
}

/// Cancels a job, with a line in the audit log of who did.
pub async fn cancel_noted(
    state: &web::Data<AppState>,
    operator: &Operator,
    account: AccountId,
    id: JobId,
) -> Result<Job, Problem> {
    let subject = Subject {
        account: Some(account),
        id: Some(id.0),
    };
    let line = operator.author.line(state, Action::JobCancel, subject);
    let note = move |job: &Job| {
        let before = json!({"status": "queued"});
        to_audit_entry(
            line,
            Some(before),
            Some(json!({"status": job.state.word()})),
        )
    };
    cancel_job(state, account, id, Some(Box::new(note))).await
}

/// `GET /jobs/{job_id}`
pub async fn show(
    _: Operator,
    path: web::Path<String>,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = find(&path, &request, &state).await?;
    Ok(HttpResponse::Ok().json(JobRecord::looked_up(&state, &job).await?))
}
