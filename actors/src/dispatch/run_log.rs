//! The attempts of a run, for the observer and the operator.

use super::failures::FailedAttempt;
use crate::ports::{AttemptReport, BackendAttemptOutcome, RunEnd, RunReport};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::job::Job;
use tokio::sync::watch;
use tokio::time::Instant;

/// The attempts of a run in progress. Clones share the list. It outlives the run's future, which a cut-off drops.
#[derive(Clone, Debug)]
pub struct RunLog {
    began: Instant,
    attempts: Arc<Mutex<Vec<AttemptReport>>>,
    /// The last failure on each backend.
    failures: Arc<Mutex<Vec<FailedAttempt>>>,
    /// Is a backend's image being checked and stored?
    storing: watch::Sender<bool>,
}

impl RunLog {
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            attempts: Arc::default(),
            failures: Arc::default(),
            storing: watch::Sender::new(false),
        }
    }

    pub async fn store<T>(&self, store: impl Future<Output = T>) -> T {
        self.storing.send_replace(true);
        let stored = store.await;
        self.storing.send_replace(false);
        stored
    }

    /// Waits until no image is being stored.
    pub async fn stored(&self) {
        let _ = self.storing.subscribe().wait_for(|it| !it).await;
    }

    pub fn fail(&self, failed: FailedAttempt) {
        let mut failures = self.failures.lock();
        failures.retain(|it| it.backend != failed.backend);
        failures.push(failed);
    }

    /// Removes and returns the last failure on each backend.
    pub fn take_failures(&self) -> Vec<FailedAttempt> {
        std::mem::take(&mut *self.failures.lock())
    }

    pub fn add(&self, backend: &str, took: Duration, outcome: BackendAttemptOutcome) {
        let after = self.began.elapsed().saturating_sub(took);
        self.attempts.lock().push(AttemptReport {
            backend: backend.to_owned(),
            after,
            took,
            outcome,
        });
    }

    /// Reports the run, which ends now.
    pub fn report<'a>(&self, job: &'a Job, end: RunEnd) -> RunReport<'a> {
        RunReport {
            job,
            took: self.began.elapsed(),
            end,
            attempts: std::mem::take(&mut *self.attempts.lock()),
        }
    }
}
