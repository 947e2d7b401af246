//! A caller who waits for a job: until it is over, the time is up, or the service stops.

use super::abandoned::Abandoned;
use super::orphans::Request;
use super::refusal::{Kind, Refusal};
use crate::http::failures;
use crate::http::state::AppState;
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
pub struct Caller {
    state: web::Data<AppState>,
    account: AccountId,
    /// The job.
    pub job: JobId,
    /// Was it accepted by an earlier call, with the same idempotency key or one whose caller had gone?
    pub replayed: bool,
    /// Under which it is found again, where it has no idempotency key.
    pub request: Option<Request>,
    is_over: bool,
}

impl Caller {
    /// One who begins to wait.
    pub fn new(
        state: &web::Data<AppState>,
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
            is_over: false,
        }
    }

    /// Waits until the job is over, at most until `until`.
    ///
    /// # Errors
    /// `Deadline` when it is not over by then: a job that has not started is canceled, another goes on. `Unavailable` when
    /// the service stops. And what the job failed of.
    pub async fn wait(&mut self, until: Instant) -> Result<Made, Refusal> {
        let state = self.state.clone();
        let mut stopping = state.stopping.subscribe();
        let ended = state.system.ended(self.account, self.job);
        tokio::pin!(ended);
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                ended = &mut ended => break ended?,
                _ = state.fail_stop.tripped() => return Err(failures::stopping().into()),
                () = sleep_until(until) => return Err(self.late()),
                // The sender lives as long as the state does.
                _ = stopping.wait_for(|it| *it), if !is_stopping => {
                    is_stopping = true;
                    if self.is_queued()? {
                        let message = "the service is stopping; send the request again in a moment";
                        return Err(Refusal::new(Kind::Unavailable, message));
                    }
                }
            }
        };
        self.is_over = true;
        match ended {
            Some(job) => outcome(job),
            None => Err(Refusal::new(Kind::Internal, "the job is gone")),
        }
    }

    fn is_queued(&self) -> Result<bool, Refusal> {
        let job = self.state.store.job(self.account, self.job)?;
        Ok(job.is_some_and(|job| job.state == JobState::Queued))
    }

    fn late(&self) -> Refusal {
        let message = match self.is_queued() {
            Ok(true) => {
                "the job had not started in time and was canceled; nothing was charged".into()
            }
            _ => format!(
                "no picture was made in time; the job goes on, look it up at /api/v1/jobs/{}",
                self.job
            ),
        };
        Refusal::new(Kind::Deadline, message)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if !self.is_over {
            if let Some(request) = self.request {
                let orphans = &self.state.orphans;
                orphans.leave(request, self.job, self.state.now());
            }
            self.state.abandoned.tell(Abandoned {
                account: self.account,
                job: self.job,
            });
        }
    }
}

fn outcome(job: Job) -> Result<Made, Refusal> {
    match job.state {
        JobState::Done { image, .. } => Ok(Made::Picture(image)),
        JobState::Failed { error, kind, .. } => Err(Refusal::new(
            match kind {
                FailureKind::Blocked => return Ok(Made::Blocked(error)),
                FailureKind::Refused => Kind::Invalid,
                FailureKind::Unavailable => Kind::Unavailable,
                FailureKind::TimedOut => Kind::Deadline,
                FailureKind::Canceled => Kind::Canceled,
                FailureKind::Broken | FailureKind::Interrupted | FailureKind::Unrecorded => {
                    Kind::Internal
                }
            },
            error,
        )),
        JobState::Queued | JobState::Processing { .. } => {
            Err(Refusal::new(Kind::Internal, "the job is not over"))
        }
    }
}
