//! The newest tries of one backend, for its statistics of the last hour.

use super::sliding_window::WINDOW;
use crate::ports::TryOutcome;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

const MAX_TRIES: usize = 1_000;

#[derive(Debug, Default)]
pub struct RecentTries(Mutex<VecDeque<RecentTry>>);

#[derive(Clone, Copy, Debug)]
struct RecentTry {
    ended_at: Timestamp,
    took: Duration,
    outcome: TryOutcome,
}

/// Statistics of the newest 1,000 tries, as far as they ended within the last hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentFigures {
    pub tries: usize,
    /// Tries that failed by the backend's fault.
    pub failed: usize,
    /// The median duration of tries with an image.
    pub p50: Option<Duration>,
    /// The 95th percentile of that duration.
    pub p95: Option<Duration>,
}

impl RecentTries {
    /// Adds a try. Beyond 1,000 tries it drops the oldest one.
    pub(crate) fn add(&self, ended_at: Timestamp, took: Duration, outcome: TryOutcome) {
        let mut tries = self.0.lock();
        if tries.len() == MAX_TRIES {
            tries.pop_front();
        }
        tries.push_back(RecentTry {
            ended_at,
            took,
            outcome,
        });
    }

    /// The statistics of the hour that ends at `now`.
    pub fn figures(&self, now: Timestamp) -> RecentFigures {
        let begin = now.millis() - WINDOW.as_millis() as i64;
        let tries: Vec<RecentTry> = {
            let tries = self.0.lock();
            let recent = tries.iter().filter(|it| it.ended_at.millis() > begin);
            recent.copied().collect()
        };
        let is_failed = |it: &&RecentTry| it.outcome.is_failure();
        let is_image = |it: &&RecentTry| it.outcome == TryOutcome::Image;
        let mut times: Vec<Duration> = tries.iter().filter(is_image).map(|it| it.took).collect();
        times.sort_unstable();
        RecentFigures {
            tries: tries.len(),
            failed: tries.iter().filter(is_failed).count(),
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
        let tries = RecentTries::default();
        assert_eq!(tries.figures(at(0)), RecentFigures::default());
        (1..=20).for_each(|it| tries.add(at(100), seconds(it), TryOutcome::Image));
        tries.add(at(100), seconds(120), TryOutcome::TimedOut);
        tries.add(at(100), seconds(1), TryOutcome::Transient);
        tries.add(at(100), seconds(1), TryOutcome::Blocked);
        let expected = RecentFigures {
            tries: 23,
            failed: 2,
            p50: Some(seconds(10)),
            p95: Some(seconds(19)),
        };
        assert_eq!(tries.figures(at(100)), expected);
    }

    #[test]
    fn only_the_newest_tries_of_the_last_hour_are_counted() {
        let tries = RecentTries::default();
        tries.add(at(0), seconds(9), TryOutcome::Image);
        tries.add(at(10), seconds(1), TryOutcome::Image);
        let both = tries.figures(at(3_599));
        assert_eq!((both.tries, both.p95), (2, Some(seconds(9))));
        let one = tries.figures(at(3_600));
        assert_eq!((one.tries, one.p95), (1, Some(seconds(1))));
        (0..MAX_TRIES).for_each(|_| tries.add(at(20), seconds(2), TryOutcome::Image));
        assert_eq!(tries.figures(at(30)).tries, MAX_TRIES);
    }
}
