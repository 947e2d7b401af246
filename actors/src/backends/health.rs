//! The state of a backend, for operators.

use super::breaker::{Breaker, BreakerState};
use super::contact::{BackendError, Seen};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tokio::time::Instant;

/// The state of a backend, from what was seen since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// No run has asked it yet.
    Unknown,
    /// Its last answer was as it should be, if only a refusal.
    Up,
    /// It is used, and its last try failed.
    Degraded,
    /// Its breaker is open after repeated failures.
    Down,
    /// Its breaker is half open: one run probes it.
    Probing,
}

/// A backend at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendHealth {
    /// The operator's name for it.
    pub name: String,
    pub health: Health,
    /// Failures in a row since its last success.
    pub faults: u32,
    /// Time until the next probe, while it is down.
    pub probe_in: Option<Duration>,
    /// Runs that it takes at a time.
    pub slots: usize,
    /// So many from several nodes together, and not from each of them.
    pub is_shared: bool,
    /// Runs that it has from this process.
    pub running: usize,
    /// How often its breaker has opened since the start, after failed probes too.
    pub opened: u64,
    /// When it last answered as it should, if only with a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
}

impl BackendHealth {
    pub(crate) fn new(
        name: &str,
        breaker: &Breaker,
        seen: Seen,
        now: Instant,
        slots: usize,
        is_shared: bool,
        running: usize,
    ) -> Self {
        let (health, faults, probe_in) = match breaker.state() {
            BreakerState::Closed { faults } => (while_used(&seen), faults, None),
            BreakerState::Open { until, faults, .. } => {
                let wait = until.saturating_duration_since(now);
                (Health::Down, faults, Some(wait))
            }
            BreakerState::HalfOpen { faults, .. } => (Health::Probing, faults, None),
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
            last_answer_at: seen.last_answer_at,
            last_error: seen.last_error,
        }
    }
}

/// The state of a backend whose breaker is closed. A backend whose every answer is of no use never opens its breaker, but is not up.
fn while_used(seen: &Seen) -> Health {
    match (seen.is_anything(), seen.is_failing) {
        (false, _) => Health::Unknown,
        (true, true) => Health::Degraded,
        (true, false) => Health::Up,
    }
}
