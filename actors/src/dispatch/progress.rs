//! The progress of all running jobs.

use crate::ports::{Preview, Progress};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_storage::domain::ids::JobId;

/// Maximum number of jobs whose previews are watched at a time. Bounds the memory of previews.
const MAX_WATCHED: usize = 32;

/// One entry per run.
#[derive(Clone, Debug, Default)]
pub struct RunProgress(Arc<Mutex<HashMap<JobId, Progress>>>);

impl RunProgress {
    /// Adds the entry of a run. Dropping the returned value removes it.
    pub fn enter(&self, job: JobId) -> ProgressEntry {
        let progress = Progress::default();
        self.0.lock().insert(job, progress.clone());
        ProgressEntry {
            runs: self.clone(),
            job,
            progress,
        }
    }

    /// The finished fraction of a job's image; `None` if the job does not run or its generator has reported nothing.
    pub fn of(&self, job: JobId) -> Option<f32> {
        self.0.lock().get(&job)?.fraction()
    }

    /// The newest preview of a job's image. Also requests the next one. `None` if there is no preview, or too many other jobs are watched.
    pub fn preview(&self, job: JobId) -> Option<Preview> {
        let runs = self.0.lock();
        let progress = runs.get(&job)?;
        let others = runs.iter().filter(|(id, _)| **id != job);
        let watched = others.filter(|(_, it)| it.is_watched_or_clear()).count();
        if watched >= MAX_WATCHED {
            return None;
        }
        progress.watch()
    }
}

/// The entry of one run.
#[derive(Debug)]
pub struct ProgressEntry {
    runs: RunProgress,
    job: JobId,
    progress: Progress,
}

impl ProgressEntry {
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

impl Drop for ProgressEntry {
    fn drop(&mut self) {
        self.runs.0.lock().remove(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn progress_is_reported_only_while_the_run_lasts() {
        let runs = RunProgress::default();
        let job = JobId(Uuid::nil());
        let entry = runs.enter(job);
        let progress = entry.progress();
        assert_eq!(runs.of(job), None, "nothing was reported yet");
        progress.report(0.25);
        assert_eq!(runs.of(job), Some(0.25));
        progress.reset();
        assert_eq!(runs.of(job), None);
        progress.report(0.5);
        drop(entry);
        assert_eq!(runs.of(job), None, "the run has ended");
        progress.report(0.75);
        assert_eq!(runs.of(job), None, "a late report adds no entry");
        assert!(runs.0.lock().is_empty());
    }

    #[test]
    fn the_number_of_watched_previews_is_limited() {
        let all = RunProgress::default();
        let jobs = (0..=MAX_WATCHED as u128).map(|id| JobId(Uuid::from_u128(id)));
        let runs: Vec<_> = jobs.map(|job| (job, all.enter(job))).collect();
        let preview = Preview {
            bytes: vec![1].into(),
            media_type: "image/png",
        };
        for (job, entry) in &runs {
            assert_eq!(all.preview(*job), None);
            entry.progress().show(preview.clone());
        }
        let seen = |at: usize| all.preview(runs[at].0);
        assert_eq!(seen(0), Some(preview.clone()));
        assert_eq!(seen(MAX_WATCHED), None, "one too many");
    }
}
