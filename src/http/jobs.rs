//! Job lookup and cancellation.

use super::long_poll;
use crate::api::job::JobView;
use crate::application::commit::detached;
use crate::application::error;
use crate::application::result_url::presign;
use crate::application::state::AppState;
use crate::web::auth::Principal;
use crate::web::problem::{Code, Problem};
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use tintype_actors::account::AccountCommand;
use tintype_actors::ports::ImageStore as _;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobEvent, JobState};
use tintype_storage::store::EventError;
use tokio::sync::oneshot;

/// `GET /jobs/{job_id}`, at once or, when the caller asks for that, once the job is terminal.
pub async fn show(
    principal: Principal,
    request: HttpRequest,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let found = find(&principal, &path, &state)?;
    let patience = long_poll::asked(&request)?;
    principal.admit()?;
    let job = match patience.filter(|_| !found.state.is_terminal()) {
        Some(patience) => long_poll::until_terminal(&state, found, patience).await?,
        None => found,
    };
    let mut response = answer(&state, &job).await?;
    if let Some(patience) = patience {
        patience.tell(response.headers_mut());
    }
    Ok(response)
}

/// The caller's job of a path; one of another account is not told apart from one that does not exist.
pub fn find(principal: &Principal, path: &str, state: &AppState) -> Result<Job, Problem> {
    let id: JobId = path.parse().map_err(|_| not_found())?;
    let job = state.store.job(principal.caller.account(), id)?;
    job.ok_or_else(not_found)
}

/// `DELETE /jobs/{job_id}`: cancels a job that is still queued.
pub async fn cancel(
    principal: Principal,
    path: web::Path<String>,
    state: web::Data<AppState>,
) -> Result<HttpResponse, Problem> {
    let id = find(&principal, &path, &state)?.id;
    principal.admit()?;
    let job = cancel_job(&state, principal.caller.account(), id, None).await?;
    answer(&state, &job).await
}

/// Cancels a job of an account that is still queued.
///
/// `note` writes the line of the audit log, where it is not the account's own key that asks. What a cancellation entails is
/// done also when whoever asked for it has left.
pub async fn cancel_job(
    state: &web::Data<AppState>,
    account: AccountId,
    id: JobId,
    note: Option<Note<Job>>,
) -> Result<Job, Problem> {
    let account = state
        .system
        .accounts()
        .get(account)?
        .ok_or_else(not_found)?;
    let (reply, outcome) = oneshot::channel();
    let command = AccountCommand::Apply {
        job: id,
        event: JobEvent::Cancel,
        note,
        reply,
    };
    account
        .address
        .try_send(command)
        .map_err(|_| error::busy())?;
    let state = state.clone();
    detached(async move {
        match outcome.await.map_err(|_| error::stopping())? {
            Ok(job) => {
                state.system.job_canceled(&job);
                state.gallery.forget_inputs(&job).await;
                Ok(job)
            }
            Err(EventError::NotFound) => Err(not_found()),
            Err(EventError::Transition(error)) => {
                Err(Problem::new(Code::Conflict, error.to_string()))
            }
            Err(EventError::Store(error)) => Err(error.into()),
        }
    })
    .await
}

/// One text for an unknown id, no id at all, and another account's job.
pub fn not_found() -> Problem {
    Problem::new(Code::NotFound, "there is no such job")
}

async fn answer(state: &AppState, job: &Job) -> Result<HttpResponse, Problem> {
    let view = view(state, job).await?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    Ok(answer.json(view))
}

/// A job as the lookup tells it, with a download URL of this moment.
pub async fn view<'a>(state: &AppState, job: &'a Job) -> Result<JobView<'a>, Problem> {
    let image_url = match &job.state {
        JobState::Done { image, .. } => Some(presign(state, &image.key).await?),
        JobState::Queued | JobState::Processing { .. } | JobState::Failed { .. } => None,
    };
    Ok(JobView::new(
        job,
        image_url,
        state.system.queue_position(job),
    ))
}
