//! Why the newest failed jobs failed, in the operator's words. It lives in memory and is lost at a restart; the log has it too.

use crate::backends::BackendError;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tintype_storage::domain::ids::JobId;

/// Failed jobs that are remembered.
const MOST: usize = 1_000;

/// A backend that a failed job was tried on, with its last error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTry {
    /// The operator's name for the backend.
    pub backend: String,
    pub error: BackendError,
}

/// The failed tries of the newest failed jobs.
#[derive(Debug, Default)]
pub struct FailureBoard(Mutex<VecDeque<(JobId, Vec<FailedTry>)>>);

impl FailureBoard {
    /// Remembers the failed tries of a job, in place of the oldest one if there are too many.
    pub fn remember(&self, job: JobId, tries: Vec<FailedTry>) {
        if tries.is_empty() {
            return;
        }
        let mut jobs = self.0.lock();
        if jobs.len() == MOST {
            jobs.pop_front();
        }
        jobs.push_back((job, tries));
    }

    /// The failed tries of a job, in the order of their backends; none if the job is no longer remembered.
    pub fn of(&self, job: JobId) -> Vec<FailedTry> {
        let jobs = self.0.lock();
        let found = jobs.iter().rev().find(|(id, _)| *id == job);
        found.map(|(_, tries)| tries.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::time::Timestamp;
    use uuid::Uuid;

    #[test]
    fn the_newest_failed_jobs_are_remembered() {
        let board = FailureBoard::default();
        let job = |at: usize| JobId(Uuid::from_u128(at as u128));
        let tries = |at: usize| {
            vec![FailedTry {
                backend: "gpu".into(),
                error: BackendError {
                    at: Timestamp::from_millis(at as i64),
                    cause: "no connection".into(),
                },
            }]
        };
        (0..=MOST).for_each(|at| board.remember(job(at), tries(at)));
        board.remember(job(MOST + 1), Vec::new());
        assert_eq!(board.of(job(0)), []);
        assert_eq!(board.of(job(1)), tries(1));
        assert_eq!(board.of(job(MOST)), tries(MOST));
        assert_eq!(board.of(job(MOST + 1)), [], "it was never asked");
    }
}
