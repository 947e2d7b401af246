//! Has a valid request of a synchronous interface accepted, or finds the job that was made for it before.

use super::detached_jobs::Request;
use super::job_waiter::JobWaiter;
use super::refusal::{Kind, Refusal};
use super::state::CompatState;
use crate::application::generation_request::GenerationRequest;
use crate::application::idempotency;
use crate::application::payer::Payer;
use crate::application::submit_generation::submit_and_watch;
use actix_web::web::Data;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::IdempotentCall;
use tokio::time::Instant;

/// Is the model open to this caller? It is told under the id that the caller has used.
///
/// # Errors
/// `NotAllowed`.
pub fn check_scope(caller: &Payer, tier: Tier, model: &str) -> Result<(), Refusal> {
    caller.check_scope(tier).map_err(|_| {
        let message = format!("this API key lacks permission for the model {model}");
        Refusal::new(Kind::NotAllowed, message)
    })
}

/// Has a request accepted as a job, or finds the job of its first use.
///
/// # Errors
/// Whatever stands against it; then nothing is kept of it and nothing held.
pub async fn accept(
    state: &Data<CompatState>,
    caller: &Payer,
    request: GenerationRequest,
    until: Instant,
) -> Result<JobWaiter, Refusal> {
    match earlier(state, caller, &request).await? {
        Some(waiter) => Ok(waiter),
        None => begin(state, caller, request, until).await,
    }
}

/// The waiter for a job that is there already: by its idempotency key; or because a caller who left while this very request was
/// being made has come back.
///
/// # Errors
/// The idempotency key stands for another request.
pub async fn earlier(
    state: &Data<CompatState>,
    caller: &Payer,
    request: &GenerationRequest,
) -> Result<Option<JobWaiter>, Refusal> {
    let account = caller.account();
    let waiter = |job| JobWaiter::new(state, account, job, true);
    if let Some(used) = request.idempotency() {
        let call = IdempotentCall::Generation;
        let first = idempotency::first_use(state, call, account, &used).await?;
        return Ok(first.map(|id| waiter(JobId(id))));
    }
    let Some(left) = unnamed(caller, request) else {
        return Ok(None);
    };
    while let Some(id) = state.detached_jobs.take(left, state.now()) {
        let job = state.store.job(account, id).await?;
        // One that is canceled, or about to be, is of no use; one that failed is tried anew.
        let goes_on = job.is_some_and(|job| {
            matches!(
                job.state,
                JobState::Processing { .. } | JobState::Done { .. }
            )
        });
        if goes_on {
            let mut waiter = waiter(id);
            waiter.request = Some(left);
            return Ok(Some(waiter));
        }
    }
    Ok(None)
}

/// Has a request accepted as a new job.
///
/// # Errors
/// It is not accepted, or an input is not to be had.
pub async fn begin(
    state: &Data<CompatState>,
    caller: &Payer,
    request: GenerationRequest,
    until: Instant,
) -> Result<JobWaiter, Refusal> {
    let left = unnamed(caller, &request);
    let (shared, account) = (state.clone(), caller.account());
    let watch = move |accepted: tintype_storage::store::Accepted| {
        let mut waiter = JobWaiter::new(&shared, account, accepted.job, accepted.replayed);
        waiter.request = left;
        waiter
    };
    Ok(submit_and_watch(&state.app, caller, request, until, watch).await?)
}

/// What finds a request again that has no idempotency key.
fn unnamed(caller: &Payer, request: &GenerationRequest) -> Option<Request> {
    request.idempotency_key.is_none().then(|| Request {
        key: caller.key.id,
        fingerprint: request.fingerprint(),
    })
}
