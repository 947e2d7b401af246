//! The port of whoever follows jobs from outside: told what has happened, in the words of the domain.
//!
//! It is told from the threads that do the work, so it must be quick and must not block; what it makes of it is its own affair,
//! and nothing waits for that.

use crate::figures::{Ending, TryOutcome};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::job::Job;
use tokio::time::Instant;

/// Follows jobs.
pub trait Observer: Send + Sync {
    /// A run is over.
    fn run_ended(&self, run: &RunReport<'_>);

    /// A job is terminal, and that is on the disk.
    fn job_ended(&self, job: &Job);

    /// An attempt of a delivery is over.
    fn attempt_ended(&self, delivery: &Delivery, attempt: &Attempt);
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct RunReport<'a> {
    /// The job as it was when the run had begun.
    pub job: &'a Job,
    /// How long the run took, up to now.
    pub took: Duration,
    /// What came of it.
    pub end: RunEnd,
    /// Its tries, in their order.
    pub tries: Vec<TryReport>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// A picture.
    Picture,
    /// No picture, which is how the job ends. Not in the back end's words: they can hold the caller's.
    Failed(Ending),
    /// An orderly stop cut it off; the job goes on after the restart.
    CutOff,
}

/// One try on a back end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TryReport {
    /// The operator's name of the back end.
    pub backend: String,
    /// When it began, from the beginning of the run.
    pub after: Duration,
    /// How long it took.
    pub took: Duration,
    /// What came of it.
    pub outcome: TryOutcome,
}

/// The tries of a run while it lasts. A clone is the same list; it is kept apart from the run, which may be cut off.
#[derive(Clone, Debug)]
pub(crate) struct Tries {
    began: Instant,
    list: Arc<Mutex<Vec<TryReport>>>,
}

impl Tries {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            list: Arc::default(),
        }
    }

    pub(crate) fn add(&self, backend: &str, took: Duration, outcome: TryOutcome) {
        let after = self.began.elapsed().saturating_sub(took);
        self.list.lock().push(TryReport {
            backend: backend.to_owned(),
            after,
            took,
            outcome,
        });
    }

    /// The report of the run, which ends now.
    pub(crate) fn report<'a>(&self, job: &'a Job, end: RunEnd) -> RunReport<'a> {
        RunReport {
            job,
            took: self.began.elapsed(),
            end,
            tries: std::mem::take(&mut *self.list.lock()),
        }
    }
}
