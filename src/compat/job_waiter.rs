//! A caller who waits for a job: until it is over, the time is up, or the service stops; and then for its picture.

use super::base64_body::Picture;
use super::detached_jobs::Request;
use super::disconnect::{self, Disconnected, Outcome};
use super::refusal::{Kind, Refusal};
use crate::application::error;
use crate::application::result_url::presign;
use crate::compat::state::CompatState;
use crate::images::{FAULT_TARGET, ImagesError};
use actix_web::web;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{FailureKind, Job, JobState, ResultImage};
use tokio::time::{Instant, sleep_until};

/// How a job ended that did not fail.
pub enum Made {
    /// With a picture.
    Picture(ResultImage),
    /// Blocked for safety, for this reason.
    Blocked(String),
}

/// A caller who waits for a job. One who goes away before the job has started has it canceled.
pub struct JobWaiter {
    state: web::Data<CompatState>,
    account: AccountId,
    /// The job.
    pub job: JobId,
    /// Was it accepted by an earlier call, with the same idempotency key or one whose caller had gone?
    pub replayed: bool,
    /// Under which it is found again, where it has no idempotency key.
    pub request: Option<Request>,
    stage: Stage,
}

/// What becomes of the job of a caller who goes away now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is canceled, unless it has started.
    Waiting,
    /// It goes on, or has its picture: one who comes back gets that.
    Kept,
    /// Nothing: all has been said.
    Told,
}

impl JobWaiter {
    /// One who begins to wait.
    pub fn new(
        state: &web::Data<CompatState>,
        account: AccountId,
        job: JobId,
        replayed: bool,
    ) -> Self {
        Self {
            state: state.clone(),
            account,
            job,
            replayed,
            request: None,
            stage: Stage::Waiting,
        }
    }

    /// Waits until the job is over, at most until `until`.
    ///
    /// # Errors
    /// `Deadline` when it is not over by then: a job that has not started is canceled, another goes on. `Unavailable` when
    /// the service stops. And what the job failed of.
    pub async fn wait(&mut self, until: Instant) -> Result<Made, Refusal> {
        match self.ended(until).await? {
            Some(ended) => self.hear(ended),
            None => self.late().await,
        }
    }

    /// The job once it is over; `None` when the time is up before. Whoever watches the job is gone when this returns.
    async fn ended(&self, until: Instant) -> Result<Option<Option<Job>>, Refusal> {
        let state = &self.state;
        let mut stopping = state.stopping.subscribe();
        let ended = state.system.ended(self.account, self.job);
        tokio::pin!(ended);
        let mut is_stopping = false;
        loop {
            tokio::select! {
                ended = &mut ended => return Ok(Some(ended?)),
                _ = state.fail_stop.tripped() => return Err(error::stopping().into()),
                () = sleep_until(until) => return Ok(None),
                // The sender lives as long as the state does.
                _ = stopping.wait_for(|it| *it), if !is_stopping => {
                    is_stopping = true;
                    if self.is_queued().await? {
                        let message = "the service is stopping; send the request again in a moment";
                        return Err(Refusal::new(Kind::Unavailable, message));
                    }
                }
            }
        }
    }

    async fn is_queued(&self) -> Result<bool, Refusal> {
        let job = self.state.store.job(self.account, self.job).await?;
        Ok(job.is_some_and(|job| job.state == JobState::Queued))
    }

    fn hear(&mut self, ended: Option<Job>) -> Result<Made, Refusal> {
        let outcome = match ended {
            Some(job) => outcome(job),
            None => Err(Refusal::new(Kind::Internal, "the job is gone")),
        };
        self.stage = match outcome {
            Ok(Made::Picture(_)) => Stage::Kept,
            Ok(Made::Blocked(_)) | Err(_) => Stage::Told,
        };
        outcome
    }

    /// The time is up. What is said is what has come of the attempt to cancel the job, and no guess: it may have started or
    /// ended just now, and others may wait for it.
    async fn late(&mut self) -> Result<Made, Refusal> {
        let state = self.state.clone();
        let gone = Disconnected {
            account: self.account,
            job: self.job,
        };
        let left = tokio::select! {
            left = disconnect::cancel(&state, gone) => left,
            _ = state.fail_stop.tripped() => return Err(error::stopping().into()),
        };
        let message = match left {
            Outcome::Canceled => {
                self.stage = Stage::Told;
                "the job had not started in time and was canceled; nothing was charged".to_owned()
            }
            Outcome::Over(job) => return self.hear(Some(*job)),
            Outcome::GoesOn => {
                self.stage = Stage::Kept;
                format!(
                    "no picture was made in time; the job goes on: {}",
                    self.again()
                )
            }
            Outcome::Unknown => return Err(error::stopping().into()),
        };
        Err(Refusal::new(Kind::Deadline, message))
    }

    /// How one who goes away now gets the picture after all.
    fn again(&self) -> String {
        let repeat = match self.request {
            Some(_) => "send the very same request again within two minutes",
            None => "send the request again with the same Idempotency-Key",
        };
        format!("{repeat}, or look it up at /api/v1/jobs/{}", self.job)
    }

    /// Opens the picture that was made.
    ///
    /// # Errors
    /// It is kept no more, or the store fails.
    pub async fn open(&mut self, image: &ResultImage) -> Result<Picture, Refusal> {
        let opened = Picture::open(&self.state, &image.key).await;
        opened.map_err(|error| {
            if let ImagesError::NotFound { .. } = error {
                // One who comes back is to get another.
                self.stage = Stage::Told;
                let message = "the picture of this request is no longer kept";
                return Refusal::new(Kind::NotFound, message);
            }
            tracing::error!(target: FAULT_TARGET, job = %self.job, %error, "a picture could not be read");
            self.unreadable()
        })
    }

    /// A download URL of the picture that was made.
    ///
    /// # Errors
    /// The store gives none.
    pub async fn presign(&self, image: &ResultImage) -> Result<String, Refusal> {
        let signed = presign(&self.state, &image.key).await;
        signed.map_err(|_| self.unreadable())
    }

    fn unreadable(&self) -> Refusal {
        let message = format!(
            "the picture was made and could not be read: {}",
            self.again()
        );
        Refusal::new(Kind::Unavailable, message)
    }

    /// Would one who comes back get this job's picture?
    pub fn is_kept(&self) -> bool {
        self.stage == Stage::Kept
    }
}

/// Notes that the whole answer has been sent to these callers. Where it is dropped uncalled, the pictures that they have paid for
/// are found again when they come back.
pub fn answered(mut callers: Vec<JobWaiter>) -> impl FnOnce() {
    move || {
        for caller in &mut callers {
            caller.stage = Stage::Told;
        }
    }
}

impl Drop for JobWaiter {
    fn drop(&mut self) {
        if self.stage == Stage::Told {
            return;
        }
        if let Some(request) = self.request {
            let detached_jobs = &self.state.detached_jobs;
            detached_jobs.leave(request, self.job, self.state.now());
        }
        if self.stage == Stage::Waiting {
            self.state.disconnects.send(Disconnected {
                account: self.account,
                job: self.job,
            });
        }
    }
}

/// How a job ended.
///
/// # Errors
/// What it failed of.
pub fn outcome(job: Job) -> Result<Made, Refusal> {
    match job.state {
        JobState::Done { image, .. } => Ok(Made::Picture(image)),
        JobState::Failed { error, kind, .. } => Err(Refusal::new(
            match kind {
                FailureKind::Blocked => return Ok(Made::Blocked(error)),
                FailureKind::Refused => Kind::Invalid,
                FailureKind::Unavailable => Kind::Unavailable,
                FailureKind::TimedOut => Kind::Deadline,
                FailureKind::Canceled => Kind::Canceled,
                FailureKind::Broken | FailureKind::Interrupted => Kind::Internal,
            },
            error,
        )),
        JobState::Queued | JobState::Processing { .. } => {
            Err(Refusal::new(Kind::Internal, "the job is not over"))
        }
    }
}
