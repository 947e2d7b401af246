//! The state of a backend, for operators: its breaker, its last answer and its last failure.

use super::breaker::{Breaker, BreakerState};
use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tokio::time::Instant;

/// The state of a backend, from its tries since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It was not tried yet.
    Unknown,
    /// Its last answer was valid, if only a refusal.
    Up,
    /// Its last try failed, but it is used.
    Degraded,
    /// Its breaker is open after repeated failures.
    Down,
    /// Its breaker is half open: one run probes it.
    Probing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendHealth {
    /// The configured name.
    pub name: String,
    pub health: Health,
    /// Consecutive failures since its last success.
    pub faults: u32,
    /// Time until the next probe, while it is down.
    pub probe_in: Option<Duration>,
    /// Concurrent runs.
    pub slots: usize,
    /// Do all nodes share the slots? Otherwise each node has as many.
    pub is_shared: bool,
    /// Runs of this process.
    pub running: usize,
    /// How often its breaker has opened since the start, including after failed probes.
    pub opened: u64,
    /// When its last valid answer came, if only a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
}

impl BackendHealth {
    pub(crate) fn new(
        name: &str,
        breaker: &Breaker,
        last: LastContact,
        now: Instant,
        slots: usize,
        is_shared: bool,
        running: usize,
    ) -> Self {
        let (health, faults, probe_in) = match breaker.state() {
            BreakerState::Closed { streak } => (while_closed(&last), streak.faults, None),
            BreakerState::Open { until, streak, .. } => {
                let wait = until.saturating_duration_since(now);
                (Health::Down, streak.faults, Some(wait))
            }
            BreakerState::HalfOpen { streak, .. } => (Health::Probing, streak.faults, None),
        };
        Self {
            name: name.to_owned(),
            health,
            faults,
            probe_in,
            slots,
            is_shared,
            running,
            opened: breaker.opened(),
            last_answer_at: last.last_answer_at,
            last_error: last.last_error,
        }
    }
}

/// The state of a backend whose breaker is closed. A backend that answers only with unusable images keeps its breaker closed, but is not
/// up.
fn while_closed(last: &LastContact) -> Health {
    match (last.has_any(), last.is_failing) {
        (false, _) => Health::Unknown,
        (true, true) => Health::Degraded,
        (true, false) => Health::Up,
    }
}

/// A failure of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError {
    pub at: Timestamp,
    /// For the operator.
    pub cause: String,
}

/// The contact with a backend since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastContact {
    /// The last answer, if only a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
    /// Is the error later than the answer?
    pub is_failing: bool,
}

impl LastContact {
    pub fn has_any(&self) -> bool {
        self.last_answer_at.is_some() || self.last_error.is_some()
    }
}

#[derive(Debug, Default)]
pub struct Contact(Mutex<LastContact>);

impl Contact {
    pub fn answered(&self, at: Timestamp) {
        let mut last = self.0.lock();
        last.last_answer_at = Some(at);
        last.is_failing = false;
    }

    pub fn failed(&self, error: BackendError) {
        let mut last = self.0.lock();
        last.last_error = Some(error);
        last.is_failing = true;
    }

    pub fn last(&self) -> LastContact {
        self.0.lock().clone()
    }
}
