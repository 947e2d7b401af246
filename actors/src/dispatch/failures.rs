//! Why the newest failed jobs failed, for the operator. Kept in memory, lost at a restart; the log has it too.

use crate::backends::BackendError;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tintype_storage::domain::ids::JobId;

const MAX_JOBS: usize = 1_000;

/// A backend on which a failed job was tried, with its last error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// Its configured name.
    pub backend: String,
    pub error: BackendError,
}

#[derive(Debug, Default)]
pub struct RecentFailures(Mutex<VecDeque<(JobId, Vec<FailedAttempt>)>>);

impl RecentFailures {
    /// Remembers the failed attempts of a job. Beyond 1,000 jobs it drops the oldest one.
    pub fn remember(&self, job: JobId, attempts: Vec<FailedAttempt>) {
        if attempts.is_empty() {
            return;
        }
        let mut jobs = self.0.lock();
        if jobs.len() == MAX_JOBS {
            jobs.pop_front();
        }
        jobs.push_back((job, attempts));
    }

    /// The failed attempts of a job, one per backend; empty if the job is no longer remembered.
    pub fn of(&self, job: JobId) -> Vec<FailedAttempt> {
        let jobs = self.0.lock();
        let found = jobs.iter().rev().find(|(id, _)| *id == job);
        found
            .map(|(_, attempts)| attempts.clone())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::time::Timestamp;
    use uuid::Uuid;

    #[test]
    fn the_newest_failed_jobs_are_remembered() {
        let failures = RecentFailures::default();
        let job = |at: usize| JobId(Uuid::from_u128(at as u128));
        let attempts = |at: usize| {
            vec![FailedAttempt {
                backend: "gpu".into(),
                error: BackendError {
                    at: Timestamp::from_millis(at as i64),
                    cause: "no connection".into(),
                },
            }]
        };
        (0..=MAX_JOBS).for_each(|at| failures.remember(job(at), attempts(at)));
        failures.remember(job(MAX_JOBS + 1), Vec::new());
        assert_eq!(failures.of(job(0)), []);
        assert_eq!(failures.of(job(1)), attempts(1));
        assert_eq!(failures.of(job(MAX_JOBS)), attempts(MAX_JOBS));
        assert_eq!(failures.of(job(MAX_JOBS + 1)), [], "no backend was tried");
    }
}
