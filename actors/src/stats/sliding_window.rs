//! A sliding window of event counts. It counts events as they happen, so a read costs little and needs no history of jobs.

use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// The longest span that can be counted.
pub const WINDOW: Duration = Duration::from_secs(3_600);
const BUCKET: Duration = Duration::from_secs(10);
const BUCKETS: usize = (WINDOW.as_secs() / BUCKET.as_secs()) as usize;

/// The events of the last hour, by kind.
pub struct SlidingWindow<const KINDS: usize> {
    /// When counting began.
    since: Timestamp,
    buckets: Mutex<[Bucket<KINDS>; BUCKETS]>,
}

#[derive(Clone, Copy)]
struct Bucket<const KINDS: usize> {
    /// Counted from the epoch.
    number: i64,
    counts: [u64; KINDS],
}

/// The events of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowCounts<const KINDS: usize> {
    /// The beginning of the span, or of the counting if that is later.
    pub since: Timestamp,
    pub counts: [u64; KINDS],
}

fn number(at: Timestamp) -> i64 {
    at.millis().div_euclid(BUCKET.as_millis() as i64)
}

impl<const KINDS: usize> SlidingWindow<KINDS> {
    pub fn since(now: Timestamp) -> Self {
        let empty = Bucket {
            number: 0,
            counts: [0; KINDS],
        };
        Self {
            since: now,
            buckets: Mutex::new([empty; BUCKETS]),
        }
    }

    /// Counts one event.
    pub(crate) fn add(&self, at: Timestamp, kind: usize) {
        let number = number(at);
        let mut buckets = self.buckets.lock();
        let bucket = &mut buckets[number.rem_euclid(BUCKETS as i64) as usize];
        if bucket.number != number {
            *bucket = Bucket {
                number,
                counts: [0; KINDS],
            };
        }
        bucket.counts[kind] += 1;
    }

    /// The counts of the span that ends at `now`, in whole buckets and at most an hour.
    pub fn counts(&self, now: Timestamp, span: Duration) -> WindowCounts<KINDS> {
        let newest = number(now);
        let buckets = (span.as_secs() / BUCKET.as_secs()).clamp(1, BUCKETS as u64);
        let oldest = newest - buckets as i64 + 1;
        let begin = Timestamp::from_millis(oldest * BUCKET.as_millis() as i64);
        let mut counts = [0; KINDS];
        let buckets = self.buckets.lock();
        for number in oldest..=newest {
            let bucket = &buckets[number.rem_euclid(BUCKETS as i64) as usize];
            // The bucket may belong to an earlier hour.
            if bucket.number != number {
                continue;
            }
            for (sum, count) in counts.iter_mut().zip(bucket.counts) {
                *sum += count;
            }
        }
        WindowCounts {
            since: begin.max(self.since),
            counts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn an_hour_is_counted_and_older_events_are_not() {
        let window = SlidingWindow::<2>::since(at(100_000));
        let note = |seconds: std::ops::Range<i64>| {
            seconds.for_each(|second| window.add(at(second), usize::from(second % 4 == 0)));
        };
        note(100_000..103_600);
        let first = window.counts(at(103_599), WINDOW);
        assert_eq!((first.since, first.counts), (at(100_000), [2_700, 900]));
        note(103_600..104_000);
        let later = window.counts(at(104_599), WINDOW);
        assert_eq!((later.since, later.counts), (at(101_000), [2_250, 750]));
        assert_eq!(window.counts(at(200_000), WINDOW).counts, [0, 0]);
    }

    #[test]
    fn a_part_of_the_hour_is_counted_alone() {
        let window = SlidingWindow::<1>::since(at(100_000));
        (100_000..103_600).for_each(|second| window.add(at(second), 0));
        let minutes = window.counts(at(103_599), Duration::from_secs(300));
        assert_eq!((minutes.since, minutes.counts), (at(103_300), [300]));
    }

    #[test]
    fn a_bucket_that_is_used_again_starts_at_zero() {
        let window = SlidingWindow::<1>::since(at(0));
        for hour in 0..3 {
            window.add(at(hour * 3_600 + 5), 0);
        }
        assert_eq!(window.counts(at(2 * 3_600 + 6), WINDOW).counts, [1]);
    }
}
