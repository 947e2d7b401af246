//! A sliding window over the jobs that have ended. It counts them as they end, so reading it costs nothing and depends on no history.

use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// The length of the window.
pub const WINDOW: Duration = Duration::from_secs(3_600);
/// The resolution of the window.
const BUCKET: Duration = Duration::from_secs(10);
const BUCKETS: usize = (WINDOW.as_secs() / BUCKET.as_secs()) as usize;

/// The jobs that ended within the last hour.
pub struct SlidingWindow {
    /// When counting began.
    since: Timestamp,
    buckets: Mutex<[Bucket; BUCKETS]>,
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The number of this bucket since the epoch.
    number: i64,
    done: u64,
    failed: u64,
}

/// The jobs that ended within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCounts {
    /// The beginning of the window, or of the counting where that is later.
    pub since: Timestamp,
    pub done: u64,
    pub failed: u64,
}

fn number(at: Timestamp) -> i64 {
    at.millis().div_euclid(BUCKET.as_millis() as i64)
}

impl SlidingWindow {
    pub fn since(now: Timestamp) -> Self {
        Self {
            since: now,
            buckets: Mutex::new([Bucket::default(); BUCKETS]),
        }
    }

    /// Counts a job that has ended.
    pub(crate) fn add(&self, at: Timestamp, is_done: bool) {
        let number = number(at);
        let mut buckets = self.buckets.lock();
        let bucket = &mut buckets[number.rem_euclid(BUCKETS as i64) as usize];
        if bucket.number != number {
            *bucket = Bucket {
                number,
                ..Bucket::default()
            };
        }
        match is_done {
            true => bucket.done += 1,
            false => bucket.failed += 1,
        }
    }

    /// The counts of the window that ends at `now`.
    pub fn ended(&self, now: Timestamp) -> WindowCounts {
        let newest = number(now);
        let oldest = newest - BUCKETS as i64 + 1;
        let begin = Timestamp::from_millis(oldest * BUCKET.as_millis() as i64);
        let mut counts = WindowCounts {
            since: begin.max(self.since),
            done: 0,
            failed: 0,
        };
        let buckets = self.buckets.lock();
        for bucket in buckets.iter().filter(|it| it.number >= oldest) {
            counts.done += bucket.done;
            counts.failed += bucket.failed;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn an_hour_is_counted_and_what_is_older_is_not() {
        let window = SlidingWindow::since(at(100_000));
        let note = |seconds: std::ops::Range<i64>| {
            seconds.for_each(|second| window.add(at(second), second % 4 > 0));
        };
        note(100_000..103_600);
        let first = window.ended(at(103_599));
        assert_eq!(
            (first.since, first.done, first.failed),
            (at(100_000), 2_700, 900)
        );
        note(103_600..104_000);
        let later = window.ended(at(104_599));
        assert_eq!(later.since, at(101_000));
        assert_eq!((later.done, later.failed), (2_250, 750));
        let none = window.ended(at(200_000));
        assert_eq!((none.done, none.failed), (0, 0));
    }

    #[test]
    fn a_bucket_that_is_used_again_starts_at_zero() {
        let window = SlidingWindow::since(at(0));
        for hour in 0..3 {
            window.add(at(hour * 3_600 + 5), true);
        }
        assert_eq!(window.ended(at(2 * 3_600 + 6)).done, 1);
    }
}
