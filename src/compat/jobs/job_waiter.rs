//! A caller that waits for a job until it ends, the deadline passes or the server stops, and then reads its image.

use super::outage;
use crate::application::error;
use crate::application::jobs::presign;
use crate::compat::base64_body::StoredImage;
use crate::compat::disconnect::{self, CancelOutcome, Disconnect};
use crate::compat::recent_calls::{EarlierCall, RequestIdentity};
use crate::compat::refusal::{Kind, Refusal};
use crate::compat::state::CompatState;
use crate::objects::{FAULT_TARGET, ObjectError};
use actix_web::web;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{FailureKind, Job, JobState, ResultImage};
use tintype_storage::domain::tier::Tier;
use tokio::time::{Instant, sleep_until};

pub enum WaitOutcome {
    Image(ResultImage),
    /// Blocked by a safety filter, for this reason.
    Blocked(String),
}

impl WaitOutcome {
    /// The image, for an API that calls a blocked image an error.
    ///
    /// # Errors
    /// A safety filter blocked the image.
    pub fn image(self) -> Result<ResultImage, Refusal> {
        match self {
            Self::Image(image) => Ok(image),
            Self::Blocked(reason) => Err(Refusal::new(Kind::Blocked, reason)),
        }
    }
}

/// Waits for a job on behalf of a caller. Dropping it before the job has started cancels the job, unless the job runs in the background.
pub struct JobWaiter {
    state: web::Data<CompatState>,
    account: AccountId,
    pub job: JobId,
    tier: Tier,
    /// Whether an earlier request created the job: with the same idempotency key, or an identical one whose caller disconnected.
    pub replayed: bool,
    /// Finds the job again for a repeated request without an idempotency key.
    request: Option<RequestIdentity>,
    /// The SDK's attempts before this one; `None` if the API has no automatic retries.
    attempt: Option<u32>,
    /// The number of this call among the waiting ones.
    waiting: Option<u64>,
    pub on_drop: OnDrop,
}

/// Why a caller waits no longer.
enum WaitEnd {
    /// The job has ended, or no longer exists.
    Ended(Option<Box<Job>>),
    Deadline,
    /// The server stops.
    Stopping,
}

/// What happens to the job when the caller disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDrop {
    /// It is canceled if it has not started.
    Cancel,
    /// It continues or is done. A repeated request gets its image.
    Detach,
    /// Nothing, because the caller has the final response.
    Nothing,
}

impl JobWaiter {
    pub fn new(
        state: &web::Data<CompatState>,
        account: AccountId,
        job: JobId,
        tier: Tier,
        replayed: bool,
        on_drop: OnDrop,
    ) -> Self {
        Self {
            state: state.clone(),
            account,
            job,
            tier,
            replayed,
            request: None,
            attempt: None,
            waiting: None,
            on_drop,
        }
    }

    /// The record of the job.
    ///
    /// # Errors
    /// The store fails, or the job was deleted meanwhile.
    pub async fn record(&self) -> Result<Job, Refusal> {
        let job = self.state.core.store.job(self.account, self.job).await?;
        job.ok_or_else(no_job)
    }

    /// Lets repeated requests without an idempotency key find the job: a later attempt of an SDK while this caller waits, and all of
    /// them after it has disconnected.
    pub fn with_identity(mut self, request: Option<RequestIdentity>, attempt: Option<u32>) -> Self {
        (self.request, self.attempt) = (request, attempt);
        self.waiting = request.zip(attempt).map(|(request, attempt)| {
            let now = self.state.core.now();
            let calls = &self.state.recent_calls;
            calls.begin(request, attempt, self.job, now)
        });
        self
    }

    /// Waits until the job ends or `deadline` passes.
    ///
    /// # Errors
    /// `Deadline` if the job has not ended: it is canceled if it has not started, and continues otherwise. `Unavailable` if the
    /// server stops, or the job has not started and no backend of its model is in service. Otherwise the failure of the job.
    pub async fn wait(&mut self, deadline: Instant) -> Result<WaitOutcome, Refusal> {
        let mut end = self.end(deadline, false).await?;
        if let WaitEnd::Stopping = end {
            match self.cancel_because_of_stop().await? {
                Some(ended) => return self.finish(Some(*ended)),
                None => end = self.end(deadline, true).await?,
            }
        }
        match end {
            WaitEnd::Ended(job) => self.finish(job.map(|it| *it)),
            WaitEnd::Deadline | WaitEnd::Stopping => self.timed_out().await,
        }
    }

    /// Waits for one of the ends. No watcher of the job is left when this returns.
    async fn end(&self, deadline: Instant, is_stopping: bool) -> Result<WaitEnd, Refusal> {
        let core = &self.state.core;
        let mut stopping = core.stopping.subscribe();
        let (jobs, tier) = (&self.state.jobs, self.tier);
        let unserved = outage::cancel_when_unserved(jobs, tier, self.account, self.job);
        tokio::select! {
            job = core.system.ended(self.account, self.job) => Ok(WaitEnd::Ended(job?.map(Box::new))),
            _ = core.fail_stop.tripped() => Err(error::stopping().into()),
            () = sleep_until(deadline) => Ok(WaitEnd::Deadline),
            never = unserved, if self.on_drop == OnDrop::Cancel => match never {},
            // The sender lives as long as the state.
            _ = stopping.wait_for(|it| *it), if !is_stopping => Ok(WaitEnd::Stopping),
        }
    }

    /// Cancels the job if it is queued, so that it costs nothing when the caller repeats the request. Returns the job if it has ended,
    /// and `None` if it is finished within the grace period.
    ///
    /// # Errors
    /// `Unavailable` if the job does not begin before the stop.
    async fn cancel_because_of_stop(&mut self) -> Result<Option<Box<Job>>, Refusal> {
        if !self.is_queued().await? {
            return Ok(None);
        }
        match self.cancel().await? {
            CancelOutcome::Canceled => self.on_drop = OnDrop::Nothing,
            CancelOutcome::AlreadyEnded(job) => return Ok(Some(job)),
            // Another caller waits for it too.
            CancelOutcome::Continues if self.is_queued().await? => {}
            CancelOutcome::Continues => return Ok(None),
            CancelOutcome::Unknown => return Err(error::stopping().into()),
        }
        let message = "the service is stopping; send the request again in a moment";
        Err(Refusal::new(Kind::Unavailable, message))
    }

    /// Cancels the job if it is queued and no other caller waits for it.
    ///
    /// # Errors
    /// The fail-stop has tripped.
    async fn cancel(&self) -> Result<CancelOutcome, Refusal> {
        let disconnected = Disconnect {
            account: self.account,
            job: self.job,
        };
        Ok(disconnect::cancel_for_caller(&self.state.jobs, disconnected).await?)
    }

    async fn is_queued(&self) -> Result<bool, Refusal> {
        let job = self.state.core.store.job(self.account, self.job).await?;
        Ok(job.is_some_and(|job| job.state == JobState::Queued))
    }

    fn finish(&mut self, end_state: Option<Job>) -> Result<WaitOutcome, Refusal> {
        let outcome = match end_state {
            // This caller still waits. SDKs repeat no request whose job was canceled, but this one: it gets a new job.
            Some(job) if job.state.is_abandoned() => {
                let message = "another request for the same image lost its connection before the image was started; send the request again";
                Err(Refusal::new(Kind::Unavailable, message))
            }
            Some(job) => wait_outcome(job)
                .map_err(|refusal| outage::with_retry_after(refusal, &self.state.jobs, self.tier)),
            None => Err(no_job()),
        };
        self.on_drop = match outcome {
            Ok(WaitOutcome::Image(_)) => OnDrop::Detach,
            Ok(WaitOutcome::Blocked(_)) | Err(_) => OnDrop::Nothing,
        };
        outcome
    }

    /// Cancels the job after the deadline and reports the result: the job may have just started or ended, and other callers may wait
    /// for it.
    async fn timed_out(&mut self) -> Result<WaitOutcome, Refusal> {
        let message = match self.cancel().await? {
            CancelOutcome::Canceled => {
                self.on_drop = OnDrop::Nothing;
                "the job did not start in time and was canceled; nothing was charged".to_owned()
            }
            CancelOutcome::AlreadyEnded(job) => return self.finish(Some(*job)),
            CancelOutcome::Continues => {
                self.on_drop = OnDrop::Detach;
                format!(
                    "the image was not ready in time; the job continues: {}",
                    self.retry_hint()
                )
            }
            CancelOutcome::Unknown => return Err(error::stopping().into()),
        };
        Err(Refusal::new(Kind::Deadline, message))
    }

    /// How the caller can get the image later.
    fn retry_hint(&self) -> String {
        let repeat = match self.request {
            Some(_) => "repeat the identical request within two minutes",
            None => "repeat the request with the same Idempotency-Key",
        };
        format!("{repeat}, or get the job at /api/v1/jobs/{}", self.job)
    }

    /// # Errors
    /// The image is no longer stored, or the object store fails.
    pub async fn open(&mut self, image: &ResultImage) -> Result<StoredImage, Refusal> {
        let opened = StoredImage::open(&self.state.jobs, &image.key).await;
        opened.map_err(|error| {
            if let ObjectError::NotFound { .. } = error {
                // A repeated request must create a new job.
                self.on_drop = OnDrop::Nothing;
                let message = "the image of this request is no longer stored";
                return Refusal::new(Kind::NoSuchObject, message);
            }
            tracing::error!(target: FAULT_TARGET, job = %self.job, %error, "could not read an image");
            self.unreadable_image()
        })
    }

    /// A download URL of the image.
    pub async fn presign(&self, image: &ResultImage) -> Result<String, Refusal> {
        let signed = presign(&self.state.jobs, &image.key).await;
        signed.map_err(|_| self.unreadable_image())
    }

    fn unreadable_image(&self) -> Refusal {
        let message = format!(
            "the image was generated but could not be read: {}",
            self.retry_hint()
        );
        Refusal::new(Kind::Unavailable, message)
    }

    /// Whether a repeated request gets the image of this job.
    pub fn is_retrievable(&self) -> bool {
        self.on_drop == OnDrop::Detach
    }

    /// Stops being found as a waiting call. Returns false if a retry has taken over the job.
    fn leave(&mut self) -> bool {
        let number = self.waiting.take();
        number.is_none_or(|number| self.state.recent_calls.remove_waiting(number))
    }
}

/// To be called when these callers have the complete response. If it is dropped uncalled, repeated requests get the images that
/// were charged.
pub fn mark_answered(mut waiters: Vec<JobWaiter>) -> impl FnOnce() {
    move || {
        for waiter in &mut waiters {
            waiter.on_drop = OnDrop::Nothing;
            if let (true, Some(request), Some(attempt)) =
                (waiter.leave(), waiter.request, waiter.attempt)
            {
                let calls = &waiter.state.recent_calls;
                calls.record_answered(request, attempt, waiter.job, waiter.state.core.now());
            }
        }
    }
}

impl Drop for JobWaiter {
    fn drop(&mut self) {
        // If a retry has taken over the job, its caller decides about it.
        if !self.leave() || self.on_drop == OnDrop::Nothing {
            return;
        }
        if let Some(request) = self.request {
            let detached = EarlierCall {
                created: self.job,
                is_abandoned: self.on_drop == OnDrop::Cancel,
            };
            let now = self.state.core.now();
            self.state.recent_calls.detach(request, detached, now);
        }
        if self.on_drop == OnDrop::Cancel {
            // It may run outside of a runtime, so it neither awaits nor spawns. After the server has stopped there is no receiver. The
            // next start cancels these jobs.
            let _ = self.state.disconnects.send(Disconnect {
                account: self.account,
                job: self.job,
            });
        }
    }
}

fn no_job() -> Refusal {
    Refusal::new(Kind::Internal, "the job no longer exists")
}

/// # Errors
/// The failure of the job.
pub fn wait_outcome(job: Job) -> Result<WaitOutcome, Refusal> {
    match job.state {
        JobState::Done { image, .. } => Ok(WaitOutcome::Image(image)),
        JobState::Failed { error, kind, .. } => Err(Refusal::new(
            match kind {
                FailureKind::Blocked => return Ok(WaitOutcome::Blocked(error)),
                FailureKind::Refused => Kind::Invalid,
                FailureKind::Unavailable => Kind::Unavailable,
                FailureKind::TimedOut => Kind::Deadline,
                FailureKind::Canceled => Kind::Canceled,
                FailureKind::Broken | FailureKind::Interrupted => Kind::Internal,
            },
            error,
        )),
        JobState::Queued | JobState::Processing { .. } => {
            Err(Refusal::new(Kind::Internal, "the job has not ended"))
        }
    }
}
