//! The last answer and the last failure of a backend.

use parking_lot::Mutex;
use tintype_storage::domain::time::Timestamp;

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
