//! The state of a backend, for operators.

use super::breaker::{Breaker, BreakerState};
use std::time::Duration;
use tokio::time::Instant;

/// Whether a backend is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Up,
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
    /// Runs that it has.
    pub running: usize,
    /// How often its breaker has opened since the start, after failed probes too.
    pub opened: u64,
}

impl BackendHealth {
    pub(crate) fn new(
        name: &str,
        breaker: &Breaker,
        now: Instant,
        slots: usize,
        free: usize,
    ) -> Self {
        let (health, faults, probe_in) = match breaker.state() {
            BreakerState::Closed { faults } => (Health::Up, faults, None),
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
            running: slots.saturating_sub(free),
            opened: breaker.opened(),
        }
    }
}
