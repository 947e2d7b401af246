//! Counters of jobs and of the decisions about them.

use super::sliding_window::SlidingWindow;
use crate::clock::elapsed;
use crate::ports::JobOutcome;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::job::{FailureKind, Job, JobState};
use tintype_storage::domain::tier::{Mode, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::histogram::{GROUP_SIZES, Histogram, LONG_DURATIONS};

pub struct JobStats {
    /// By tier and mode.
    pub accepted: [[AtomicU64; 2]; 3],
    /// Calls that an idempotency key answered with an earlier job.
    pub replayed: AtomicU64,
    /// Runs that began after an interrupted one, by tier.
    pub begun_again: [AtomicU64; 3],
    /// By tier, and by [`JobOutcome::index`].
    pub ended: [[AtomicU64; JobOutcome::COUNT]; 3],
    /// From acceptance to the first run, by tier, in microseconds.
    pub waits: [Histogram; 3],
    /// From acceptance to the end, by tier, in microseconds.
    pub lives: [Histogram; 3],
    /// Accepted jobs per commit, over the commits that accept any.
    pub per_commit: Histogram,
    /// Jobs that ended within the last hour: done, failed, canceled.
    pub recent: SlidingWindow<3>,
    /// Jobs of each tier whose first run began within the last hour.
    pub begun: [SlidingWindow<1>; 3],
}

impl JobStats {
    pub fn since(now: Timestamp) -> Self {
        let spans = || std::array::from_fn(|_| Histogram::new(LONG_DURATIONS));
        Self {
            accepted: Default::default(),
            replayed: AtomicU64::new(0),
            begun_again: Default::default(),
            ended: Default::default(),
            waits: spans(),
            lives: spans(),
            per_commit: Histogram::new(GROUP_SIZES),
            recent: SlidingWindow::since(now),
            begun: std::array::from_fn(|_| SlidingWindow::since(now)),
        }
    }

    /// Counts a call that was answered with an earlier job without its account's actor. The actor counts its own replays.
    pub fn count_replay(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds the counts of a durable commit.
    pub(crate) fn add(&self, counts: &DecidedCounts) {
        let mut together = 0;
        for (tier, modes) in counts.accepted.iter().enumerate() {
            for (mode, jobs) in modes.iter().enumerate().filter(|(_, jobs)| **jobs > 0) {
                self.accepted[tier][mode].fetch_add(*jobs, Ordering::Relaxed);
                together += jobs;
            }
        }
        if together > 0 {
            self.per_commit.add(together);
        }
        if counts.replayed > 0 {
            self.replayed.fetch_add(counts.replayed, Ordering::Relaxed);
        }
        for (tier, wait, at) in &counts.begun {
            match wait {
                Some(wait) => {
                    self.waits[tier.index()].add_duration(*wait);
                    self.begun[tier.index()].add(*at, 0);
                }
                None => drop(self.begun_again[tier.index()].fetch_add(1, Ordering::Relaxed)),
            }
        }
        for (tier, outcome, life, at) in &counts.ended {
            let column = match outcome {
                JobOutcome::Done => 0,
                JobOutcome::Failed(FailureKind::Canceled) => 2,
                JobOutcome::Failed(_) => 1,
            };
            self.recent.add(*at, column);
            self.ended[tier.index()][outcome.index()].fetch_add(1, Ordering::Relaxed);
            self.lives[tier.index()].add_duration(*life);
        }
    }
}

/// The counts of one commit, before it is durable.
#[derive(Default)]
pub(crate) struct DecidedCounts {
    accepted: [[u64; 2]; 3],
    replayed: u64,
    /// With the wait for a first run; `None` for a later run.
    begun: Vec<(Tier, Option<Duration>, Timestamp)>,
    ended: Vec<(Tier, JobOutcome, Duration, Timestamp)>,
}

impl DecidedCounts {
    pub(crate) fn accepted(&mut self, tier: Tier, mode: Mode) {
        self.accepted[tier.index()][mode as usize] += 1;
    }

    pub(crate) fn count_replay(&mut self) {
        self.replayed += 1;
    }

    /// Counts an event that has changed a job.
    pub(crate) fn changed(&mut self, job: &Job, has_begun: bool, now: Timestamp) {
        let age = elapsed(job.created_at, now);
        if let Some(outcome) = JobOutcome::of(job) {
            self.ended.push((job.tier, outcome, age, now));
        } else if has_begun && let JobState::Processing { started_at, .. } = job.state {
            self.begun
                .push((job.tier, (started_at == now).then_some(age), now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commits_that_accept_jobs_count() {
        let stats = JobStats::since(Timestamp::from_millis(0));
        stats.add(&DecidedCounts::default());
        let mut counts = DecidedCounts::default();
        (0..3).for_each(|_| counts.accepted(Tier::Pro, Mode::TextToImage));
        counts.accepted(Tier::Fast, Mode::ImageToImage);
        counts.count_replay();
        stats.add(&counts);
        let read = stats.per_commit.read();
        assert_eq!((read.count(), read.sum), (1, 4));
        let of = |tier: Tier, mode: Mode| {
            stats.accepted[tier.index()][mode as usize].load(Ordering::Relaxed)
        };
        assert_eq!(of(Tier::Pro, Mode::TextToImage), 3);
        assert_eq!(of(Tier::Fast, Mode::ImageToImage), 1);
        assert_eq!(stats.replayed.load(Ordering::Relaxed), 1);
    }
}
