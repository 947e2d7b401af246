//! A span as it is told: what, when, and where it belongs.

use super::ids::{SpanId, TraceId};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;

/// A span that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace.
    pub trace: TraceId,
    /// The span within it.
    pub id: SpanId,
    /// The one that it is part of.
    pub parent: Option<SpanId>,
    /// What happened.
    pub name: &'static str,
    /// How it stands to others.
    pub kind: Kind,
    /// When it began.
    pub began: Moment,
    /// When it ended.
    pub ended: Moment,
    /// What else is known, without what was left out.
    pub attributes: Vec<(&'static str, Value)>,
    /// What went wrong, if something did.
    pub failure: Option<String>,
}

/// The part of OpenTelemetry's kinds that there is here, with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Within the service.
    Internal = 1,
    /// What somebody asked of the service.
    Server = 2,
    /// What the service asked of somebody.
    Client = 3,
}

/// A value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
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
    /// The moment `span` later.
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos(span)))
    }

    /// The moment `span` earlier.
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(span)))
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
