//! The progress of all running jobs.

use crate::ports::Progress;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_storage::domain::ids::JobId;

/// The progress of every run. It has one entry for each run.
#[derive(Clone, Debug, Default)]
pub struct ProgressBoard(Arc<Mutex<HashMap<JobId, Progress>>>);

impl ProgressBoard {
    /// Opens the entry of a run, which lasts until the returned value is dropped.
    pub fn enter(&self, job: JobId) -> ProgressEntry {
        let progress = Progress::default();
        self.0.lock().insert(job, progress.clone());
        ProgressEntry {
            board: self.clone(),
            job,
            progress,
        }
    }

    /// How far a job's picture is; `None` when the job does not run or its generator has reported nothing.
    pub fn of(&self, job: JobId) -> Option<f32> {
        self.0.lock().get(&job)?.fraction()
    }
}

/// The entry of one run.
#[derive(Debug)]
pub struct ProgressEntry {
    board: ProgressBoard,
    job: JobId,
    progress: Progress,
}

impl ProgressEntry {
    /// Where the run's generators report.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        self.board.0.lock().remove(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_report_is_seen_while_the_run_lasts() {
        let board = ProgressBoard::default();
        let job = JobId(Uuid::nil());
        let entry = board.enter(job);
        let progress = entry.progress();
        assert_eq!(board.of(job), None, "nothing was reported yet");
        progress.report(0.25);
        assert_eq!(board.of(job), Some(0.25));
        progress.forget();
        assert_eq!(board.of(job), None);
        progress.report(0.5);
        drop(entry);
        assert_eq!(board.of(job), None, "the run is over");
        progress.report(0.75);
        assert_eq!(board.of(job), None, "a late report opens no entry");
        assert!(board.0.lock().is_empty());
    }
}
