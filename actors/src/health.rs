//! How a back end is, for whoever looks after the service.

use crate::breaker::{Breaker, State};
use std::time::Duration;
use tokio::time::Instant;

/// Whether a back end is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It is.
    Up,
    /// It keeps failing and is passed over.
    Down,
    /// It was passed over, and one run is trying it out.
    Probing,
}

/// A back end at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendHealth {
    /// The operator's name for it.
    pub name: String,
    /// Whether it is used.
    pub health: Health,
    /// Faults in a row since it answered last.
    pub faults: u32,
    /// Time until the next probe, while it is down.
    pub probe_in: Option<Duration>,
    /// Runs that it takes at a time.
    pub places: usize,
    /// Runs that it has.
    pub running: usize,
    /// How often it began to be passed over since the start, after failed probes too.
    pub opened: u64,
}

impl BackendHealth {
    pub(crate) fn new(
        name: &str,
        breaker: &Breaker,
        now: Instant,
        places: usize,
        free: usize,
    ) -> Self {
        let (health, faults, probe_in) = match breaker.state() {
            State::Closed { faults } => (Health::Up, faults, None),
            State::Open { until, faults, .. } => {
                let wait = until.saturating_duration_since(now);
                (Health::Down, faults, Some(wait))
            }
            State::HalfOpen { faults, .. } => (Health::Probing, faults, None),
        };
        Self {
            name: name.to_owned(),
            health,
            faults,
            probe_in,
            places,
            running: places.saturating_sub(free),
            opened: breaker.opened(),
        }
    }
}
