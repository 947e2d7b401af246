//! How many jobs have ended lately, counted as they end: so that it is exact whatever the history holds, and free to ask.

use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// The span that is looked back over.
pub const SPAN: Duration = Duration::from_secs(3_600);
/// What is counted together.
const PART: Duration = Duration::from_secs(10);
const PARTS: usize = (SPAN.as_secs() / PART.as_secs()) as usize;

/// Jobs that have ended in the last hour.
pub struct Lately {
    /// Nothing is known of what was before.
    since: Timestamp,
    parts: Mutex<[Part; PARTS]>,
}

#[derive(Clone, Copy, Default)]
struct Part {
    /// Which part of all time it counts.
    number: i64,
    done: u64,
    failed: u64,
}

/// What has ended within the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// From this moment on: the beginning of the span, or of the counting where that is later.
    pub since: Timestamp,
    /// Jobs that are done.
    pub done: u64,
    /// Jobs that failed.
    pub failed: u64,
}

fn number(at: Timestamp) -> i64 {
    at.millis().div_euclid(PART.as_millis() as i64)
}

impl Lately {
    /// Counts from this moment on.
    pub fn since(now: Timestamp) -> Self {
        Self {
            since: now,
            parts: Mutex::new([Part::default(); PARTS]),
        }
    }

    /// A job has ended.
    pub(crate) fn note(&self, at: Timestamp, is_done: bool) {
        let number = number(at);
        let mut parts = self.parts.lock();
        let part = &mut parts[number.rem_euclid(PARTS as i64) as usize];
        if part.number != number {
            *part = Part {
                number,
                ..Part::default()
            };
        }
        match is_done {
            true => part.done += 1,
            false => part.failed += 1,
        }
    }

    /// What has ended within the span before `now`, give or take what is counted together.
    pub fn ended(&self, now: Timestamp) -> Ended {
        let newest = number(now);
        let oldest = newest - PARTS as i64 + 1;
        let begin = Timestamp::from_millis(oldest * PART.as_millis() as i64);
        let mut ended = Ended {
            since: begin.max(self.since),
            done: 0,
            failed: 0,
        };
        let parts = self.parts.lock();
        for part in parts.iter().filter(|it| it.number >= oldest) {
            ended.done += part.done;
            ended.failed += part.failed;
        }
        ended
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
        let lately = Lately::since(at(100_000));
        let note = |seconds: std::ops::Range<i64>| {
            seconds.for_each(|second| lately.note(at(second), second % 4 > 0));
        };
        note(100_000..103_600);
        let first = lately.ended(at(103_599));
        assert_eq!(
            (first.since, first.done, first.failed),
            (at(100_000), 2_700, 900)
        );
        note(103_600..104_000);
        let later = lately.ended(at(104_599));
        assert_eq!(later.since, at(101_000));
        assert_eq!((later.done, later.failed), (2_250, 750));
        let none = lately.ended(at(200_000));
        assert_eq!((none.done, none.failed), (0, 0));
    }

    #[test]
    fn parts_that_come_round_again_begin_anew() {
        let lately = Lately::since(at(0));
        for hour in 0..3 {
            lately.note(at(hour * 3_600 + 5), true);
        }
        assert_eq!(lately.ended(at(2 * 3_600 + 6)).done, 1);
    }
}
