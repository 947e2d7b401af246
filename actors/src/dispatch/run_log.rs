//! The tries of a run, for the observer and for the operator.

use super::failures::FailedTry;
use crate::ports::{RunEnd, RunReport, TryOutcome, TryReport};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::job::Job;
use tokio::time::Instant;

/// The tries of a run while it lasts. A clone is the same list. It lives apart from the run, which may be cut off.
#[derive(Clone, Debug)]
pub struct RunLog {
    began: Instant,
    tries: Arc<Mutex<Vec<TryReport>>>,
    /// The last failure on each backend.
    failures: Arc<Mutex<Vec<FailedTry>>>,
}

impl RunLog {
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            tries: Arc::default(),
            failures: Arc::default(),
        }
    }

    pub fn fail(&self, failed: FailedTry) {
        let mut failures = self.failures.lock();
        failures.retain(|it| it.backend != failed.backend);
        failures.push(failed);
    }

    /// The last failure on each backend, which the log forgets.
    pub fn take_failures(&self) -> Vec<FailedTry> {
        std::mem::take(&mut *self.failures.lock())
    }

    pub fn add(&self, backend: &str, took: Duration, outcome: TryOutcome) {
        let after = self.began.elapsed().saturating_sub(took);
        self.tries.lock().push(TryReport {
            backend: backend.to_owned(),
            after,
            took,
            outcome,
        });
    }

    /// The report of the run, which ends now.
    pub fn report<'a>(&self, job: &'a Job, end: RunEnd) -> RunReport<'a> {
        RunReport {
            job,
            took: self.began.elapsed(),
            end,
            tries: std::mem::take(&mut *self.tries.lock()),
        }
    }
}
