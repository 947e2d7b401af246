//! The state of a backend, for operators: its breaker, its last response and its last failure.

use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::backend_pauses::BackendPause;
use tintype_storage::domain::time::Timestamp;

/// The state of a backend, from its attempts since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It was not tried yet.
    Unknown,
    /// Its last response was valid, if only a refusal.
    Up,
    /// Its last attempt failed, but it is used.
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
    /// The operator's pause.
    pub pause: Option<BackendPause>,
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
    /// When its last valid response came, if only a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
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
    /// The last response, if only a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
    /// Is the error later than the response?
    pub is_failing: bool,
}

impl LastContact {
    pub fn has_any(&self) -> bool {
        self.last_answer_at.is_some() || self.last_error.is_some()
    }

    /// The state of a backend whose breaker is closed. A few failures keep it closed, and so do those of one account while another one
    /// succeeds, but then the backend is not up.
    pub fn while_closed(&self) -> Health {
        match (self.has_any(), self.is_failing) {
            (false, _) => Health::Unknown,
            (true, true) => Health::Degraded,
            (true, false) => Health::Up,
        }
    }
}

#[derive(Debug, Default)]
pub struct Contact(Mutex<LastContact>);

impl Contact {
    pub fn responded(&self, at: Timestamp) {
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
