//! The newest attempts of one backend, for its statistics of the last hour.

use super::sliding_window::WINDOW;
use crate::ports::BackendAttemptOutcome;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

const MAX_ATTEMPTS: usize = 1_000;

#[derive(Debug, Default)]
pub struct RecentAttempts(Mutex<VecDeque<RecentAttempt>>);

#[derive(Clone, Copy, Debug)]
struct RecentAttempt {
    ended_at: Timestamp,
    took: Duration,
    outcome: BackendAttemptOutcome,
}

/// Statistics of the newest 1,000 attempts, as far as they ended within the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentFigures {
    pub attempts: usize,
    /// Attempts that failed by the backend's fault.
    pub failed: usize,
    /// The median duration of attempts with an image.
    pub p50: Option<Duration>,
    /// The 95th percentile of that duration.
    pub p95: Option<Duration>,
}

impl RecentAttempts {
    /// Adds an attempt. Beyond 1,000 attempts it drops the oldest one.
    pub(crate) fn add(&self, ended_at: Timestamp, took: Duration, outcome: BackendAttemptOutcome) {
        let mut attempts = self.0.lock();
        if attempts.len() == MAX_ATTEMPTS {
            attempts.pop_front();
        }
        attempts.push_back(RecentAttempt {
            ended_at,
            took,
            outcome,
        });
    }

    /// The statistics of the hour that ends at `now`.
    pub fn figures(&self, now: Timestamp) -> RecentFigures {
        let begin = now.millis() - WINDOW.as_millis() as i64;
        let attempts: Vec<RecentAttempt> = {
            let attempts = self.0.lock();
            let recent = attempts.iter().filter(|it| it.ended_at.millis() > begin);
            recent.copied().collect()
        };
        let is_failed = |it: &&RecentAttempt| it.outcome.is_failure();
        let is_image = |it: &&RecentAttempt| it.outcome == BackendAttemptOutcome::Image;
        let mut times: Vec<Duration> = attempts.iter().filter(is_image).map(|it| it.took).collect();
        times.sort_unstable();
        RecentFigures {
            attempts: attempts.len(),
            failed: attempts.iter().filter(is_failed).count(),
            p50: percentile(&times, 50),
            p95: percentile(&times, 95),
        }
    }
}

/// The smallest of the sorted `times` that `percent` of them do not exceed.
fn percentile(times: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (times.len() * percent).div_ceil(100);
    times.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn images_are_timed_and_failures_counted() {
        let attempts = RecentAttempts::default();
        assert_eq!(attempts.figures(at(0)), RecentFigures::default());
        (1..=20).for_each(|it| attempts.add(at(100), seconds(it), BackendAttemptOutcome::Image));
        attempts.add(at(100), seconds(120), BackendAttemptOutcome::TimedOut);
        attempts.add(at(100), seconds(1), BackendAttemptOutcome::Transient);
        attempts.add(at(100), seconds(1), BackendAttemptOutcome::Blocked);
        let expected = RecentFigures {
            attempts: 23,
            failed: 2,
            p50: Some(seconds(10)),
            p95: Some(seconds(19)),
        };
        assert_eq!(attempts.figures(at(100)), expected);
    }

    #[test]
    fn only_the_newest_tries_of_the_last_hour_are_counted() {
        let attempts = RecentAttempts::default();
        attempts.add(at(0), seconds(9), BackendAttemptOutcome::Image);
        attempts.add(at(10), seconds(1), BackendAttemptOutcome::Image);
        let both = attempts.figures(at(3_599));
        assert_eq!((both.attempts, both.p95), (2, Some(seconds(9))));
        let one = attempts.figures(at(3_600));
        assert_eq!((one.attempts, one.p95), (1, Some(seconds(1))));
        (0..MAX_ATTEMPTS)
            .for_each(|_| attempts.add(at(20), seconds(2), BackendAttemptOutcome::Image));
        assert_eq!(attempts.figures(at(30)).attempts, MAX_ATTEMPTS);
    }
}
