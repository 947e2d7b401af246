//! `GET /jobs`: the account's jobs, newest first, filtered.
//!
//! A page looks at a bounded number of records, however few of them a filter lets through: then it ends early, perhaps empty,
//! with a cursor that goes on.

mod filter;

pub(crate) use filter::{Asked, Filter};

use super::jobs;
use crate::api::job::ListedJob;
use crate::application::state::AppState;
use crate::request_text::{self, WordsError};
use crate::web::auth::Principal;
use crate::web::paging::Listing;
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, PromptRef};

/// Records that are read at a time when not all of them are wanted.
const STEP: usize = 200;
/// Records that one page looks at.
const MOST_READ: usize = 2_000;
/// Metadata that one page fetches from the object store: large requests keep it there.
const MOST_FETCHED: usize = 50;

/// Lists jobs.
pub async fn list(
    principal: Principal,
    request: HttpRequest,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let asked = Asked::of(&request)?;
    principal.admit()?;
    let (found, next) = page(&state, principal.caller.account(), &asked).await?;
    let mut data = Vec::with_capacity(found.len());
    for job in &found {
        data.push(ListedJob::new(job, jobs::view(&state, job).await?));
    }
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(Listing::of(data, next.map(|id| *id.as_bytes()))))
}

/// A page, and the last id that was looked at if there may be more.
pub(crate) async fn page(
    state: &AppState,
    account: AccountId,
    asked: &Asked,
) -> Result<(Vec<Job>, Option<JobId>), Problem> {
    let Asked {
        limit,
        after,
        filter,
    } = asked;
    let (from, before) = filter.range();
    // The smaller one, where both are there.
    let mut below = match (*after, before) {
        (Some(after), Some(before)) => Some(after.min(before)),
        (after, before) => after.or(before),
    };
    let step = if filter.is_open() { limit + 1 } else { STEP };
    let (mut found, mut read, mut fetched) = (Vec::new(), 0, 0);
    loop {
        let jobs = state
            .store
            .jobs_of(account, filter.part(), below, from, step)?;
        let is_last = jobs.len() < step;
        for job in jobs {
            if found.len() == *limit || read == MOST_READ || fetched == MOST_FETCHED {
                return Ok((found, below));
            }
            read += 1;
            below = Some(job.id);
            if filter.takes(&job) && has_metadata(state, filter, &job, &mut fetched).await? {
                found.push(job);
            }
        }
        if is_last {
            return Ok((found, None));
        }
        // Others have their turn on this thread.
        tokio::task::yield_now().await;
    }
}

async fn has_metadata(
    state: &AppState,
    filter: &Filter,
    job: &Job,
    fetched: &mut usize,
) -> Result<bool, Problem> {
    if filter.metadata.is_empty() {
        return Ok(true);
    }
    *fetched += usize::from(matches!(job.brief, PromptRef::Stored(_)));
    let metadata = metadata_of(state, job).await?;
    Ok(metadata.is_some_and(|text| filter.takes_metadata(&text)))
}

/// What the caller has sent along with a job, from its record or from the object store.
pub(crate) async fn metadata_of(state: &AppState, job: &Job) -> Result<Option<String>, Problem> {
    match &job.brief {
        PromptRef::Inline(words) => Ok(words.metadata.clone()),
        PromptRef::Stored(key) => {
            match request_text::load(&state.images, key).await {
                Ok(words) => Ok(words.metadata),
                // One object that was lost must not end every list that comes past it.
                Err(error) if error.is_gone() => Ok(None),
                Err(error) => Err(unreadable(error)),
            }
        }
    }
}

fn unreadable(error: WordsError) -> Problem {
    tracing::error!(%error, "the words of a job could not be read");
    let detail = "the metadata of a job could not be read; try again, or list without that filter";
    Problem::new(Code::StorageUnavailable, detail)
}
