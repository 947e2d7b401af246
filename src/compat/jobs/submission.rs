//! Submits a valid request as a job, or finds the existing job of a repeated request.

use super::job_waiter::{JobWaiter, OnDrop};
use crate::application::caller::payer::Payer;
use crate::application::idempotency;
use crate::application::submission::earlier_images;
use crate::application::submission::generation_request::GenerationRequest;
use crate::application::submission::submit_generation::submit_and_watch;
use crate::compat::disconnect::{self, CancelOutcome, Disconnect};
use crate::compat::recent_calls::{EarlierCall, RequestIdentity};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::state::CompatState;
use actix_web::web::Data;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{JobState, Origin};
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::AcceptedJob;
use tokio::time::Instant;

/// # Errors
/// `NotAllowed`. The message contains the model id that the caller sent.
pub fn check_scope(caller: &Payer, tier: Tier, model: &str) -> Result<(), Refusal> {
    caller.check_scope(tier).map_err(|_| {
        let message = format!("this API key lacks permission for the model {model}");
        Refusal::new(Kind::NotAllowed, message)
    })
}

/// A call whose caller waits for its images, or for the acceptance of its jobs in the background.
pub struct Call<'a> {
    pub state: &'a Data<CompatState>,
    pub caller: Payer,
    /// The attempt of an SDK that numbers them.
    pub attempt: Option<u32>,
    pub deadline: Instant,
}

impl Call<'_> {
    /// # Errors
    /// The request is refused. Nothing is stored and nothing is reserved.
    pub async fn submit(&self, request: GenerationRequest) -> Result<JobWaiter, Refusal> {
        match self.find_existing(&request).await? {
            Some(waiter) => Ok(waiter),
            None => self.submit_new(request).await,
        }
    }

    /// As [`Self::submit`], for a request that may continue from earlier images. `unknown` is the refusal of an earlier job that the
    /// account does not have, with the name of its field.
    ///
    /// # Errors
    /// Those of [`Self::submit`]; an earlier image is not available. The job of a repeated request is found without it.
    pub async fn submit_continued(
        &self,
        request: GenerationRequest,
        unknown: impl Fn(JobId, &str) -> Refusal,
    ) -> Result<JobWaiter, Refusal> {
        if let Some(waiter) = self.find_existing(&request).await? {
            return Ok(waiter);
        }
        let refusal = self.refusal_on_drop(&request);
        let (core, account) = (&self.state.core, self.caller.account());
        earlier_images::check(core, account, &request.inputs, unknown).await?;
        refusal.disarm();
        self.submit_new(request).await
    }

    /// Finds an existing job by idempotency key, or takes that of an identical earlier request.
    ///
    /// # Errors
    /// The idempotency key belongs to a different request.
    pub async fn find_existing(
        &self,
        request: &GenerationRequest,
    ) -> Result<Option<JobWaiter>, Refusal> {
        let (state, account, attempt) = (self.state, self.caller.account(), self.attempt);
        let on_drop = on_drop_of(request);
        let tier = request.offer.tier();
        let waiter = |job| JobWaiter::new(state, account, job, tier, true, on_drop);
        if let Some(used) = request.idempotency() {
            let first = idempotency::find_replay(&state.core, account, Some(&used)).await?;
            return Ok(first.map(|id| waiter(JobId(id))));
        }
        let Some(identity) = request_identity(&self.caller, request) else {
            return Ok(None);
        };
        let recent_calls = &state.recent_calls;
        while let Some(mut earlier) = recent_calls.take(identity, attempt, state.core.now()) {
            // A disconnect does not cancel a job in the background.
            earlier.is_abandoned &= on_drop == OnDrop::Cancel;
            // Before the lookup: if this request ends meanwhile, the next repeat still finds the job.
            let mut waiter = waiter(earlier.created).with_identity(Some(identity), attempt);
            if !earlier.is_abandoned {
                waiter.on_drop = OnDrop::Detach;
            }
            if self.is_usable(earlier).await? {
                waiter.on_drop = on_drop;
                return Ok(Some(waiter));
            }
            waiter.on_drop = OnDrop::Nothing;
        }
        Ok(None)
    }

    /// Whether a repeated request waits for a job. It does not get a failed or canceled one. An abandoned one that is still queued may
    /// be canceled at any moment, unless another caller waits for it: this cancels it at once.
    async fn is_usable(&self, earlier: EarlierCall<JobId>) -> Result<bool, Refusal> {
        let (state, account, job) = (self.state, self.caller.account(), earlier.created);
        match state.core.store.job(account, job).await? {
            Some(job) if job.state == JobState::Queued && earlier.is_abandoned => {}
            job => return Ok(job.is_some_and(|job| !matches!(job.state, JobState::Failed { .. }))),
        }
        let abandoned = Disconnect { account, job };
        let outcome = disconnect::cancel_for_caller(&state.jobs, abandoned).await?;
        Ok(match outcome {
            CancelOutcome::Continues => true,
            CancelOutcome::AlreadyEnded(job) => matches!(job.state, JobState::Done { .. }),
            CancelOutcome::Canceled | CancelOutcome::Unknown => false,
        })
    }

    /// # Errors
    /// The request is refused, or an input image is not available.
    pub async fn submit_new(&self, request: GenerationRequest) -> Result<JobWaiter, Refusal> {
        let identity = request_identity(&self.caller, &request);
        let (shared, account) = (self.state.clone(), self.caller.account());
        let (attempt, on_drop) = (self.attempt, on_drop_of(&request));
        let tier = request.offer.tier();
        let refusal = self.refusal_on_drop(&request);
        let watch = move |accepted: AcceptedJob| {
            refusal.disarm();
            let AcceptedJob { job, replayed } = accepted;
            let waiter = JobWaiter::new(&shared, account, job, tier, replayed, on_drop);
            waiter.with_identity(identity, attempt)
        };
        let generations = &self.state.generations;
        Ok(submit_and_watch(generations, &self.caller, request, self.deadline, watch).await?)
    }

    fn refusal_on_drop(&self, request: &GenerationRequest) -> RefusalOnDrop {
        let identity = request_identity(&self.caller, request);
        RefusalOnDrop {
            state: self.state.clone(),
            request: identity.filter(|_| self.attempt == Some(0)),
        }
    }
}

/// Records the refusal of a first attempt, also if its caller has disconnected meanwhile.
struct RefusalOnDrop {
    state: Data<CompatState>,
    /// `None` if nothing is to be recorded.
    request: Option<RequestIdentity>,
}

impl RefusalOnDrop {
    fn disarm(mut self) {
        self.request = None;
    }
}

impl Drop for RefusalOnDrop {
    fn drop(&mut self) {
        if let Some(RequestIdentity { key, fingerprint }) = self.request {
            let now = self.state.core.now();
            let calls = &self.state.recent_calls;
            calls.record_refused(key, Some(fingerprint), now);
        }
    }
}

/// What happens to the job of a request when its caller disconnects.
fn on_drop_of(request: &GenerationRequest) -> OnDrop {
    match request.origin {
        Origin::Background => OnDrop::Detach,
        Origin::Native | Origin::Synchronous | Origin::Batch(_) => OnDrop::Cancel,
    }
}

fn request_identity(caller: &Payer, request: &GenerationRequest) -> Option<RequestIdentity> {
    request.idempotency_key.is_none().then(|| RequestIdentity {
        key: caller.key.id,
        fingerprint: request.fingerprint(),
    })
}
