//! Jobs of any account, with filters, and one of them with all that is on record.

use crate::http::auth::Operator;
use crate::http::author::{Subject, told};
use crate::http::failures;
use crate::http::jobs::{cancel_job, not_found};
use crate::http::paging::{Listing, Window};
use crate::http::problem::{FieldFault, Problem};
use crate::http::state::AppState;
use crate::http::wire::job_record::JobRecord;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::json;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{JobPage, JobWindow};

/// Jobs looked at for one page when a filter lets few through; the cursor then goes on from there.
const MAX_LOOKED_AT: usize = 10_000;

/// Which jobs a list is to hold.
#[derive(Default)]
struct Filter {
    account: Option<AccountId>,
    status: Option<&'static str>,
    tier: Option<Tier>,
    key: Option<KeyId>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
}

impl Filter {
    const NAMES: &'static [&'static str] =
        &["account_id", "status", "tier", "key_id", "from", "to"];

    /// Reads one parameter.
    fn take(&mut self, name: &str, value: &str) -> Option<FieldFault> {
        let wrong = |message: &str| Some(FieldFault::new(name, message));
        match name {
            "account_id" => match value.parse() {
                Ok(id) => self.account = Some(id),
                Err(_) => return wrong("must be an id"),
            },
            "key_id" => match value.parse() {
                Ok(id) => self.key = Some(id),
                Err(_) => return wrong("must be an id"),
            },
            "tier" => match value.parse() {
                Ok(tier) => self.tier = Some(tier),
                Err(_) => return wrong("must be fast, quality or pro"),
            },
            "from" | "to" => match Timestamp::parse(value) {
                Some(moment) if name == "from" => self.from = Some(moment),
                Some(moment) => self.to = Some(moment),
                None => return wrong("must be a moment such as 2026-01-31T12:00:00Z"),
            },
            _ => {
                self.status = ["queued", "processing", "done", "failed"]
                    .into_iter()
                    .find(|word| *word == value);
                if self.status.is_none() {
                    return wrong("must be queued, processing, done or failed");
                }
            }
        }
        None
    }

    fn lets(&self, job: &Job) -> bool {
        self.status.is_none_or(|it| it == job.state.word())
            && self.tier.is_none_or(|it| it == job.tier)
            && self.key.is_none_or(|it| it == job.key)
            && self.from.is_none_or(|it| job.created_at >= it)
            && self.to.is_none_or(|it| job.created_at <= it)
    }
}

/// `GET /jobs`. Read on the blocking pool: a filter may look at many.
pub async fn list(
    _: Operator,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let mut filter = Filter::default();
    let window = Window::filtered(&request, Filter::NAMES, |name, value| {
        filter.take(name, value)
    })?;
    let window = JobWindow {
        limit: window.limit,
        after: window.after,
        since: filter.from,
        most: MAX_LOOKED_AT,
    };
    let shared = state.clone();
    let read = move || {
        let store = &shared.store;
        let lets = |job: &Job| filter.lets(job);
        match filter.account {
            Some(account) => store.sifted_jobs_of(account, window, lets),
            None => store.all_jobs(window, lets),
        }
    };
    let page: JobPage = web::block(read).await.map_err(|_| failures::busy())??;
    let mut data = Vec::with_capacity(page.items.len());
    for job in &page.items {
        data.push(JobRecord::listed(&state, job).await);
    }
    Ok(HttpResponse::Ok().json(Listing::of(data, page.next)))
}

/// The job of a path, of whichever account. Looked for on the blocking pool: there may be many accounts to ask.
async fn find(id: &str, state: &web::Data<AppState>) -> Result<Job, Problem> {
    let id: JobId = id.parse().map_err(|_| not_found())?;
    let store = state.store.clone();
    let found = web::block(move || store.find_job(id)).await;
    found.map_err(|_| failures::busy())??.ok_or_else(not_found)
}

/// `DELETE /jobs/{job_id}`: cancels a job that is still queued, as the account itself can.
pub async fn cancel(
    operator: Operator,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let Job { id, account, .. } = find(&path, &state).await?;
    let job = cancel_noted(&state, &operator, account, id).await?;
    Ok(HttpResponse::Ok().json(JobRecord::of(&state, &job).await?))
}

/// Cancels a job, with a line in the audit log of who did.
pub async fn cancel_noted(
    state: &AppState,
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
        told(
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
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let job = find(&path, &state).await?;
    Ok(HttpResponse::Ok().json(JobRecord::of(&state, &job).await?))
}
