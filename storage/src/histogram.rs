//! Lock-free histograms: adding a value takes no lock and no allocation.
//!
//! No decision depends on histograms, so values are added and read with relaxed ordering: a reading may lack values that are
//! being added.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds in microseconds, from a tenth of a millisecond to seconds: disk access, responses.
pub const SHORT_DURATIONS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// Upper bounds in microseconds, from a twentieth of a second to hours: image generation, queueing.
pub const LONG_DURATIONS: &[u64] = &[
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    20_000_000,
    30_000_000,
    60_000_000,
    120_000_000,
    300_000_000,
    600_000_000,
    1_800_000_000,
    3_600_000_000,
    21_600_000_000,
];

/// Upper bounds for the sizes of groups.
pub const GROUP_SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One per bound, and one for values above all bounds.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// A reading of a [`Histogram`]; empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Inclusive upper bounds of the ranges.
    pub bounds: &'static [u64],
    /// Values per range; the last range has no upper bound. Empty if nothing was counted.
    pub counts: Vec<u64>,
    pub sum: u64,
}

impl Histogram {
    /// An empty histogram. `bounds` must rise.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    pub fn add(&self, value: u64) {
        let at = self.bounds.partition_point(|bound| *bound < value);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Adds microseconds.
    pub fn add_duration(&self, span: Duration) {
        self.add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn read(&self) -> Reading {
        let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
        Reading {
            bounds: self.bounds,
            counts: self.counts.iter().map(count).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

impl Reading {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds the counts of another reading with the same bounds.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.is_empty() {
            self.clone_from(other);
            return;
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_equal_to_a_bound_is_counted_in_its_bucket() {
        let histogram = Histogram::new(&[10, 100]);
        [0, 10, 11, 100, 101, 5_000]
            .into_iter()
            .for_each(|value| histogram.add(value));
        let read = histogram.read();
        assert_eq!(read.counts, [2, 2, 2]);
        assert_eq!((read.count(), read.sum), (6, 5_222));
    }

    #[test]
    fn spans_are_counted_in_microseconds() {
        let histogram = Histogram::new(SHORT_DURATIONS);
        histogram.add_duration(Duration::from_micros(100));
        histogram.add_duration(Duration::from_nanos(100_999));
        histogram.add_duration(Duration::from_secs(61));
        let read = histogram.read();
        assert_eq!((read.counts[0], read.counts[1]), (2, 0), "parts are cut");
        assert_eq!(read.counts.last(), Some(&1));
        assert_eq!(read.sum, 61_000_200);
    }

    #[test]
    fn readings_of_several_histograms_add_up() {
        let (one, other) = (Histogram::new(GROUP_SIZES), Histogram::new(GROUP_SIZES));
        one.add(3);
        other.add(3);
        other.add(2_000);
        let mut sum = Reading::default();
        assert_eq!(sum.count(), 0);
        [one.read(), other.read()]
            .iter()
            .for_each(|read| sum.merge(read));
        assert_eq!((sum.count(), sum.sum), (3, 2_006));
        assert_eq!((sum.counts[2], sum.counts[11]), (2, 1));
    }

    #[test]
    fn bucket_bounds_increase() {
        for bounds in [SHORT_DURATIONS, LONG_DURATIONS, GROUP_SIZES] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn concurrent_additions_are_all_counted() {
        let histogram = Histogram::new(GROUP_SIZES);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|value| histogram.add(value % 7)));
            }
        });
        assert_eq!(histogram.read().count(), 40_000);
    }
}
