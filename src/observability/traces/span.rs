//! The data model of spans.

use super::ids::{SpanId, TraceId};
use serde_json::Value;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// A finished span.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub trace: TraceId,
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub name: &'static str,
    pub kind: Kind,
    /// Since the Unix epoch.
    pub began: Duration,
    pub ended: Duration,
    /// Strings and whole numbers.
    pub attributes: Vec<(&'static str, Value)>,
    /// The message of the error status.
    pub failure: Option<String>,
}

/// The span kinds in use, with OpenTelemetry's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// The time since the Unix epoch. Times before it count as after it.
pub fn since_epoch(moment: Timestamp) -> Duration {
    Duration::from_millis(moment.millis().unsigned_abs())
}
