//! Calls whose first attempts were refused a moment ago, so that a retry of one is not taken for a retry of an earlier, successful
//! call with the same content.

use super::expiring_queue::{ExpiringQueue, OwnedByKey};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// A process forgets old refusals beyond this number. A retry of that call then returns what the earlier call created.
const MAX: usize = 1_000;

/// `C` identifies a call as exactly as a refusal allows.
pub struct RefusedCalls<C>(ExpiringQueue<C, ()>);

impl<C: PartialEq + OwnedByKey> RefusedCalls<C> {
    pub fn new(retention: Duration) -> Self {
        Self(ExpiringQueue::new(retention, MAX))
    }

    /// Records the refusal of a first attempt.
    pub fn add(&self, call: C, now: Timestamp) {
        self.0.take(now, |entry| entry.key == call);
        self.0.push(call, (), now);
    }

    /// The time of the newest refusal of this call.
    pub fn last(&self, call: &C, now: Timestamp) -> Option<Timestamp> {
        self.0.newest(now, |entry| entry.key == *call)
    }
}
