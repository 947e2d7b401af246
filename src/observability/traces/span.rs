//! The data model of spans.

use super::ids::{SpanId, TraceId};
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
    pub began: Moment,
    pub ended: Moment,
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

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

/// Nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl From<Timestamp> for Moment {
    fn from(moment: Timestamp) -> Self {
        Self(moment.millis().unsigned_abs().saturating_mul(1_000_000))
    }
}

impl Moment {
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
