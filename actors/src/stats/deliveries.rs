//! Counters of deliveries and their attempts.

use crate::clock::elapsed;
use crate::ports::AttemptOutcome;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::delivery::{Delivery, DeliveryState};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::histogram::{Histogram, LONG_DURATIONS, SHORT_DURATIONS};

pub struct DeliveryStats {
    /// Attempts by the class of the response, in the order of [`RESPONSE_CLASSES`].
    pub attempts: [AtomicU64; RESPONSE_CLASSES.len()],
    /// Attempts that the service itself failed to make.
    pub not_sent: AtomicU64,
    /// The duration of an attempt, in microseconds.
    pub attempt_times: Histogram,
    /// From the due time to the beginning of an attempt, in microseconds.
    pub delays: Histogram,
    /// From the event to the first success, without manual redeliveries, in microseconds.
    pub travels: Histogram,
    pub delivered: AtomicU64,
    pub failed: AtomicU64,
}

/// Classes of responses; `none` means no response.
pub const RESPONSE_CLASSES: [&str; 6] = ["2xx", "3xx", "4xx", "5xx", "other", "none"];

impl Default for DeliveryStats {
    fn default() -> Self {
        Self {
            attempts: Default::default(),
            not_sent: AtomicU64::new(0),
            attempt_times: Histogram::new(LONG_DURATIONS),
            delays: Histogram::new(SHORT_DURATIONS),
            travels: Histogram::new(LONG_DURATIONS),
            delivered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }
}

impl DeliveryStats {
    pub(crate) fn began(&self, delivery: &Delivery, at: Timestamp) {
        if let Some(due) = delivery.state.due() {
            self.delays.add_duration(elapsed(due, at));
        }
    }

    pub(crate) fn count_attempt(&self, outcome: &AttemptOutcome) {
        let attempt = match outcome {
            AttemptOutcome::Made(attempt) => attempt,
            AttemptOutcome::NotSent(_) => {
                self.not_sent.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let at = match attempt.status_code {
            Some(200..300) => 0,
            Some(300..400) => 1,
            Some(400..500) => 2,
            Some(500..600) => 3,
            Some(_) => 4,
            None => 5,
        };
        self.attempts[at].fetch_add(1, Ordering::Relaxed);
        self.attempt_times
            .add_duration(Duration::from_millis(attempt.duration_ms));
    }

    /// Counts a durable delivery, if it has ended.
    pub(crate) fn count_change(&self, delivery: &Delivery) {
        match delivery.state {
            DeliveryState::Pending { .. } => {}
            DeliveryState::Delivered { at } => {
                self.delivered.fetch_add(1, Ordering::Relaxed);
                if delivery.round == 0 {
                    self.travels.add_duration(elapsed(delivery.created_at, at));
                }
            }
            DeliveryState::Failed { .. } => {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::delivery::Attempt;

    #[test]
    fn attempts_are_counted_by_response_class() {
        let stats = DeliveryStats::default();
        let at = Timestamp::from_millis(0);
        let took = Duration::from_millis(7);
        let count_attempt = |attempt| stats.count_attempt(&AttemptOutcome::Made(attempt));
        for status in [200, 204, 302, 404, 500, 503, 101] {
            count_attempt(Attempt::responded(0, at, took, status, b"", None));
        }
        count_attempt(Attempt::responded(0, at, took, 200, b"", Some("late")));
        count_attempt(Attempt::broken(0, at, took, "refused"));
        stats.count_attempt(&AttemptOutcome::NotSent("no secret".into()));
        let counted = stats
            .attempts
            .each_ref()
            .map(|it| it.load(Ordering::Relaxed));
        assert_eq!(counted, [3, 1, 1, 2, 1, 1]);
        let read = stats.attempt_times.read();
        assert_eq!((read.count(), read.sum), (9, 63_000));
        assert_eq!(stats.not_sent.load(Ordering::Relaxed), 1);
    }
}
