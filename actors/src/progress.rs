//! How far running jobs are, in memory alone: a hint for people who wait, lost at a restart and never billed.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tintype_storage::domain::ids::JobId;

/// No fraction has these bits: they are those of a NaN.
const UNKNOWN: u32 = u32::MAX;

/// What a generator tells how far it is. A clone tells the same job's; the default one tells nobody.
#[derive(Clone, Debug)]
pub struct Progress(Arc<AtomicU32>);

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(UNKNOWN)))
    }
}

impl Progress {
    /// Tells that this fraction of the picture, 0 to 1, is done. What lies outside is brought inside; no number is ignored.
    pub fn report(&self, fraction: f32) {
        if !fraction.is_nan() {
            let bits = fraction.clamp(0.0, 1.0).to_bits();
            self.0.store(bits, Ordering::Relaxed);
        }
    }

    /// Forgets what was told, as another try begins from nothing.
    pub fn forget(&self) {
        self.0.store(UNKNOWN, Ordering::Relaxed);
    }

    /// What was told last.
    pub fn fraction(&self) -> Option<f32> {
        match self.0.load(Ordering::Relaxed) {
            UNKNOWN => None,
            bits => Some(f32::from_bits(bits)),
        }
    }
}

/// The progress of every run that is under way. It holds no more entries than there are runs.
#[derive(Clone, Debug, Default)]
pub struct ProgressBoard(Arc<Mutex<HashMap<JobId, Progress>>>);

impl ProgressBoard {
    /// Opens the entry of a run. It is there for as long as what is returned.
    pub fn enter(&self, job: JobId) -> Entry {
        let progress = Progress::default();
        self.0.lock().insert(job, progress.clone());
        Entry {
            board: self.clone(),
            job,
            progress,
        }
    }

    /// How far a job is; `None` when it does not run or nothing was told.
    pub fn of(&self, job: JobId) -> Option<f32> {
        self.0.lock().get(&job)?.fraction()
    }
}

/// The place of one run on the board.
#[derive(Debug)]
pub struct Entry {
    board: ProgressBoard,
    job: JobId,
    progress: Progress,
}

impl Entry {
    /// What the run's generators tell.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.board.0.lock().remove(&self.job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn what_is_told_is_seen_while_the_run_lasts() {
        let board = ProgressBoard::default();
        let job = JobId(Uuid::nil());
        let entry = board.enter(job);
        let told = entry.progress();
        assert_eq!(board.of(job), None, "nothing was told yet");
        told.report(0.25);
        assert_eq!(board.of(job), Some(0.25));
        told.forget();
        assert_eq!(board.of(job), None);
        told.report(0.5);
        drop(entry);
        assert_eq!(board.of(job), None, "the run is over");
        told.report(0.75);
        assert_eq!(board.of(job), None, "a late word opens no entry");
        assert!(board.0.lock().is_empty());
    }

    #[test]
    fn only_fractions_are_kept() {
        let progress = Progress::default();
        for (told, kept) in [
            (-1.0, 0.0),
            (0.0, 0.0),
            (1.0, 1.0),
            (7.5, 1.0),
            (f32::NEG_INFINITY, 0.0),
            (f32::INFINITY, 1.0),
        ] {
            progress.report(told);
            assert_eq!(progress.fraction(), Some(kept), "{told}");
        }
        progress.report(0.5);
        progress.report(f32::NAN);
        assert_eq!(progress.fraction(), Some(0.5));
    }
}
