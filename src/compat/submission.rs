//! Submits a valid request as a job, or finds the existing job of a repeated request.

use super::job_waiter::JobWaiter;
use super::refusal::{Kind, Refusal};
use super::request_identity::RequestIdentity;
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

/// # Errors
/// `NotAllowed`. The message contains the model id that the caller sent.
pub fn check_scope(caller: &Payer, tier: Tier, model: &str) -> Result<(), Refusal> {
    caller.check_scope(tier).map_err(|_| {
        let message = format!("this API key lacks permission for the model {model}");
        Refusal::new(Kind::NotAllowed, message)
    })
}

/// # Errors
/// The request is refused. Nothing is stored and nothing is reserved.
pub async fn submit(
    state: &Data<CompatState>,
    caller: &Payer,
    request: GenerationRequest,
    attempt: Option<u32>,
    deadline: Instant,
) -> Result<JobWaiter, Refusal> {
    match find_existing(state, caller, &request, attempt).await? {
        Some(waiter) => Ok(waiter),
        None => submit_new(state, caller, request, attempt, deadline).await,
    }
}

/// Finds an existing job by idempotency key, a detached job of an identical request, or the job of an earlier attempt.
///
/// # Errors
/// The idempotency key belongs to a different request.
pub async fn find_existing(
    state: &Data<CompatState>,
    caller: &Payer,
    request: &GenerationRequest,
    attempt: Option<u32>,
) -> Result<Option<JobWaiter>, Refusal> {
    let account = caller.account();
    let waiter = |job| JobWaiter::new(state, account, job, true);
    if let Some(used) = request.idempotency() {
        let call = IdempotentCall::Generation;
        let first = idempotency::first_use(&state.core, call, account, &used).await?;
        return Ok(first.map(|id| waiter(JobId(id))));
    }
    let Some(identity) = request_identity(caller, request) else {
        return Ok(None);
    };
    let now = state.core.now();
    let next = || {
        let detached = state.detached_jobs.take(now, |job| job.key == identity);
        detached.or_else(|| state.answered_calls.take(identity, attempt?, now))
    };
    while let Some(id) = next() {
        let job = state.core.store.job(account, id).await?;
        // A failed, canceled or queued job is not reused: a queued one is about to be canceled.
        let is_usable = job.is_some_and(|job| {
            matches!(
                job.state,
                JobState::Processing { .. } | JobState::Done { .. }
            )
        });
        if is_usable {
            let mut waiter = waiter(id);
            waiter.request = Some(identity);
            waiter.attempt = attempt;
            return Ok(Some(waiter));
        }
    }
    Ok(None)
}

/// # Errors
/// The request is refused, or an input image is not available.
pub async fn submit_new(
    state: &Data<CompatState>,
    caller: &Payer,
    request: GenerationRequest,
    attempt: Option<u32>,
    deadline: Instant,
) -> Result<JobWaiter, Refusal> {
    let identity = request_identity(caller, &request);
    let (shared, account) = (state.clone(), caller.account());
    let watch = move |accepted: tintype_storage::store::AcceptedJob| {
        let mut waiter = JobWaiter::new(&shared, account, accepted.job, accepted.replayed);
        waiter.request = identity;
        waiter.attempt = attempt;
        waiter
    };
    Ok(submit_and_watch(&state.generations, caller, request, deadline, watch).await?)
}

fn request_identity(caller: &Payer, request: &GenerationRequest) -> Option<RequestIdentity> {
    request.idempotency_key.is_none().then(|| RequestIdentity {
        key: caller.key.id,
        fingerprint: request.fingerprint(),
    })
}
