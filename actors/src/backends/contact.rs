//! What was last seen of a backend: an answer, or a failure with its cause.

use parking_lot::Mutex;
use tintype_storage::domain::time::Timestamp;

/// A failure of a backend, in the operator's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendError {
    pub at: Timestamp,
    pub cause: String,
}

/// What was seen since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The last answer, if only a refusal.
    pub last_answer_at: Option<Timestamp>,
    pub last_error: Option<BackendError>,
    /// Was the error later than the answer?
    pub is_failing: bool,
}

impl Seen {
    /// Has the backend been asked at all?
    pub fn is_anything(&self) -> bool {
        self.last_answer_at.is_some() || self.last_error.is_some()
    }
}

/// The contact with one backend.
#[derive(Debug, Default)]
pub struct Contact(Mutex<Seen>);

impl Contact {
    pub fn answered(&self, at: Timestamp) {
        let mut seen = self.0.lock();
        seen.last_answer_at = Some(at);
        seen.is_failing = false;
    }

    pub fn failed(&self, error: BackendError) {
        let mut seen = self.0.lock();
        seen.last_error = Some(error);
        seen.is_failing = true;
    }

    pub fn seen(&self) -> Seen {
        self.0.lock().clone()
    }
}
