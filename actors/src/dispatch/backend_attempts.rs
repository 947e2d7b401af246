//! The attempts of a run on one backend.

use super::context::DispatchContext;
use super::failures::FailedAttempt;
use super::prompt_redaction::redact_prompt;
use super::run_deadline::RunDeadline;
use super::run_log::RunLog;
use crate::backends::{Backend, BackendError, BackendLease, BreakerEvent, Failure, Route};
use crate::ports::{
    BackendAttemptOutcome, BreakerEffect, GenerateError, GeneratedImage, GenerationTask, with_cause,
};
use crate::stats::BackendStats;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::job::{Job, ResultImage};
use tintype_storage::domain::time::Timestamp;
use tokio::time::{Instant, timeout};

/// The attempts on one backend.
pub struct Attempts<'a> {
    pub task: &'a GenerationTask,
    pub route: &'a Route,
    pub context: &'a DispatchContext,
    pub log: &'a RunLog,
}

impl Attempts<'_> {
    /// One attempt. If it ends because the deadline of the run has passed, it does not count against the backend. If it returns an image,
    /// [`Self::store`] records the outcome, because the image may be damaged.
    pub async fn attempt_once(
        &self,
        lease: &mut BackendLease,
        deadline: &mut RunDeadline,
    ) -> Result<(GeneratedImage, Duration), GenerateError> {
        let (job, backend) = (&self.task.job, self.backend());
        self.task.progress.reset();
        let began = Instant::now();
        // A timeout drops the future, so a late image cannot arrive.
        let generated = timeout(
            backend.timeout,
            backend.generator.generate(task_on(self.task, self.route)),
        );
        let (generated, cause) = with_cause(deadline.work(generated)).await;
        // The log, the statistics and the operator's event hold no prompt, which the backend's own message may repeat.
        let redact = |cause: String| redact_prompt(&cause, &self.task.prompt);
        let cause = cause.map(redact);
        let Some(generated) = generated else {
            let error = deadline.exceeded();
            tracing::warn!(%job, backend = backend.name, %error, "the run timed out");
            return Err(error);
        };
        let (error, cause) = match generated {
            Ok(Ok(image)) => {
                if let Some(cause) = cause {
                    tracing::warn!(%job, backend = backend.name, cause, "the attempt succeeded despite a fault");
                }
                self.record_contact();
                return Ok((image, began.elapsed()));
            }
            Ok(Err(error)) => {
                let cause = cause.unwrap_or_else(|| redact(error.to_string()));
                (error, cause)
            }
            Err(_) => timed_out(backend.timeout, cause),
        };
        let outcome = error.outcome();
        self.record(began.elapsed(), outcome);
        if !outcome.is_failure() && outcome != BackendAttemptOutcome::NotAsked {
            self.record_contact();
        }
        self.failed(&error, cause);
        if let Some(event) = self.breaker_event(&error) {
            lease.record(event, Instant::now());
        }
        Err(error)
    }

    /// Checks the image of an attempt that took this long, records the outcome, and stores the image. Any image that is not damaged is a
    /// success of the backend, even if it cannot be stored.
    pub async fn store(
        &self,
        (image, took): (GeneratedImage, Duration),
        job: &Job,
        lease: &mut BackendLease,
        deadline: &mut RunDeadline,
    ) -> Result<ResultImage, GenerateError> {
        let objects = &self.context.job_objects;
        let check = deadline.work(objects.check_image(job, image));
        let (checked, cause) = with_cause(check).await;
        let event = match &checked {
            Some(Err(error)) => {
                self.record(took, error.outcome());
                self.stats().invalid_images.fetch_add(1, Ordering::Relaxed);
                self.failed(error, cause.unwrap_or_else(|| error.to_string()));
                self.breaker_event(error)
            }
            // The deadline of the run is not the backend's fault.
            Some(Ok(_)) | None => {
                self.record(took, BackendAttemptOutcome::Image);
                Some(BreakerEvent::Succeeded(self.task.account))
            }
        };
        // Before the upload, which may take long: a half-open breaker waits for this.
        if let Some(event) = event {
            lease.record(event, Instant::now());
        }
        let checked = checked.unwrap_or_else(|| Err(deadline.exceeded()))?;
        let stored = deadline.work(objects.store_image(job, checked)).await;
        let image = stored.unwrap_or_else(|| Err(deadline.exceeded()))?;
        let backend = Some(self.backend().name.clone());
        warn_if_small(job, backend.as_deref(), &image, self.task.pixels);
        Ok(ResultImage { backend, ..image })
    }

    /// What a failed attempt tells the breaker.
    fn breaker_event(&self, error: &GenerateError) -> Option<BreakerEvent> {
        let account = self.task.account;
        let failed = |suspect| {
            BreakerEvent::Failed(Failure {
                retry_after: error.retry_after(),
                suspect,
            })
        };
        match error.breaker_effect() {
            BreakerEffect::Success => Some(BreakerEvent::Succeeded(account)),
            BreakerEffect::Failure => Some(failed(None)),
            BreakerEffect::DoubtfulFailure => Some(failed(Some(account))),
            BreakerEffect::None => None,
        }
    }

    pub fn backend(&self) -> &Backend {
        self.context.pool.backend(self.route)
    }

    pub fn stats(&self) -> &BackendStats {
        &self.context.process.stats.backends[self.route.backend]
    }

    fn now(&self) -> Timestamp {
        self.context.accounts.now()
    }

    fn record_contact(&self) {
        self.context.pool.contact(self.route).responded(self.now());
    }

    /// Logs a failed attempt, and records it for the operator.
    fn failed(&self, error: &GenerateError, cause: String) {
        let (job, outcome) = (&self.task.job, error.outcome());
        let (backend, word) = (&self.backend().name, outcome.as_str());
        match outcome {
            // Without the cause, which may contain the caller's text. The job's error has it.
            BackendAttemptOutcome::Blocked => {
                tracing::info!(%job, backend, "the backend blocked the content")
            }
            BackendAttemptOutcome::NotAsked => {
                tracing::info!(%job, backend, cause, "the backend was skipped");
            }
            _ => tracing::warn!(%job, backend, outcome = word, cause, "an attempt failed"),
        }
        if matches!(
            outcome,
            BackendAttemptOutcome::Blocked | BackendAttemptOutcome::NotAsked
        ) {
            return;
        }
        let at = self.now();
        let error = BackendError { at, cause };
        self.log.fail(FailedAttempt {
            backend: backend.clone(),
            error: error.clone(),
        });
        if outcome.is_failure() {
            self.context.pool.contact(self.route).failed(error);
        }
    }

    fn record(&self, took: Duration, outcome: BackendAttemptOutcome) {
        let stats = self.stats();
        stats.attempts[outcome as usize].add_duration(took);
        stats.recent.add(self.now(), took, outcome);
        if self.context.process.observer.is_some() {
            self.log.add(&self.backend().name, took, outcome);
        }
    }
}

pub fn task_on(task: &GenerationTask, route: &Route) -> GenerationTask {
    GenerationTask {
        model: route.model.clone(),
        ..task.clone()
    }
}

/// Callers pay by resolution, so this warns the operator if a backend generates less than half of the requested pixels.
fn warn_if_small(job: &Job, backend: Option<&str>, image: &ResultImage, wanted: (u32, u32)) {
    let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    if area((image.width, image.height)) < area(wanted) / 2 {
        let stored = format!("{}x{}", image.width, image.height);
        let wanted = format!("{}x{}", wanted.0, wanted.1);
        tracing::warn!(job = %job.id, backend, stored, wanted, "the image is much smaller than requested");
    }
}

/// The error of an attempt that timed out, and its cause for the log. `fault` is an earlier fault of the same attempt.
fn timed_out(after: Duration, fault: Option<String>) -> (GenerateError, String) {
    let seconds = after.as_secs();
    let error = format!("the image generator did not respond within {seconds} s");
    let cause = match fault {
        Some(fault) => format!("no response within {seconds} s; before that: {fault}"),
        None => format!("no response within {seconds} s"),
    };
    (GenerateError::TimedOut(error), cause)
}
