//! From a valid request to its accepted job: the steps that are the same whichever interface asks.

use crate::application::error;
use crate::application::state::AppState;
use crate::web::problem::Problem;
use tintype_actors::account::AccountHandle;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::engine::wakes::Together;
use tintype_storage::store::{AcceptError, Accepted, IdempotencyUse, IdempotentCall, NewJob};
use tokio::sync::oneshot;

/// The job that the first use of an idempotency key has made.
///
/// # Errors
/// `idempotency_key_reused` when that was another request.
pub fn first_use(
    state: &AppState,
    account: AccountId,
    used: &IdempotencyUse,
) -> Result<Option<JobId>, Problem> {
    let call = IdempotentCall::Generation;
    let first = state
        .store
        .idempotency(call, account, &used.name, state.now())?;
    match first {
        Some(first) if first.fingerprint != used.fingerprint => Err(AcceptError::KeyReused.into()),
        first => Ok(first.map(|first| JobId(first.made))),
    }
}

/// Has the account as many jobs as it may have? A hint: the actor decides.
///
/// # Errors
/// `rate_limited`
pub fn check_places(state: &AppState, account: &AccountHandle) -> Result<(), Problem> {
    let most = state.config.jobs.max_live_per_account as usize;
    if account.live_jobs() >= most {
        return Err(AcceptError::TooManyLive(account.live_jobs()).into());
    }
    Ok(())
}

/// Has the account's actor decide on a job; what it has accepted is on the disk when this returns. `note` writes the line of
/// the audit log, where it is not the key's holder who asks.
///
/// # Errors
/// Why it was not accepted; also when nobody can know whether it was, because storage has failed.
pub async fn reserve(
    state: &AppState,
    account: &AccountHandle,
    job: NewJob,
    note: Option<Note<JobId>>,
) -> Result<Accepted, Problem> {
    let (reply, answer) = oneshot::channel();
    let _counted = account
        .accept(job, note, reply)
        .map_err(|_| error::busy())?;
    match Together::new(answer).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) if state.fail_stop.has_tripped() => Err(error::stopping().into()),
        Err(_) => Err(error::busy().into()),
    }
}
