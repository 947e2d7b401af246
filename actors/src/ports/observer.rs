//! The port of an observer, which follows jobs in the terms of the domain.
//!
//! Its methods run on the threads that do the work: they must be quick and must not block. No actor waits for them.

use super::outcome::{JobOutcome, TryOutcome};
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::job::Job;

pub trait Observer: Send + Sync {
    /// A run has ended.
    fn run_ended(&self, run: &RunReport<'_>);

    /// A job is terminal, and its record is durable.
    fn job_ended(&self, job: &Job);

    /// An attempt of a delivery has ended.
    fn attempt_ended(&self, delivery: &Delivery, attempt: &Attempt);
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The job as it was when the run began.
    pub job: &'a Job,
    pub took: Duration,
    pub end: RunEnd,
    /// In the order in which they began.
    pub tries: Vec<TryReport>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    Picture,
    /// The job fails with this outcome. The backend's own words are left out, because they can contain the caller's.
    Failed(JobOutcome),
    /// An orderly stop cut the run off; the job runs again after the restart.
    CutOff,
}

/// One try on a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryReport {
    /// The backend's name in the configuration.
    pub backend: String,
    /// When the try began, measured from the beginning of the run.
    pub after: Duration,
    pub took: Duration,
    pub outcome: TryOutcome,
}
