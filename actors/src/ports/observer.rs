//! The port of an observer, which receives the ends of runs, jobs and attempts.
//!
//! Its methods run on the threads that do the work, so they must be quick and must not block.

use super::outcome::{BackendAttemptOutcome, JobOutcome};
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::job::Job;

pub trait Observer: Send + Sync {
    fn run_ended(&self, run: &RunReport<'_>);

    /// Called once the terminal state of the job is durable.
    fn job_ended(&self, job: &Job);

    fn attempt_ended(&self, delivery: &Delivery, attempt: &Attempt);
}

#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The job at the beginning of the run.
    pub job: &'a Job,
    pub took: Duration,
    pub end: RunEnd,
    /// In the order in which they began.
    pub attempts: Vec<AttemptReport>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    Image,
    /// The job fails. The backend's error text is left out, because it can contain the caller's text.
    Failed(JobOutcome),
    /// An orderly stop cut the run off; the job runs again after the restart.
    CutOff,
}

/// One attempt on a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptReport {
    /// The configured name.
    pub backend: String,
    /// From the beginning of the run to the beginning of the attempt.
    pub after: Duration,
    pub took: Duration,
    pub outcome: BackendAttemptOutcome,
}
