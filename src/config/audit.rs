//! `[audit]`: the log of what operators change.

use std::time::Duration;

use serde::Serialize;

use super::reader::Section;
use super::storage::days;
use super::values::integer;

/// `[audit]`: the log of changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// How long its lines are kept; 0: for ever.
    pub retention_days: u64,
}

impl Audit {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            retention_days: s.required("retention_days", integer(0..=36_500)),
        };
        s.finish();
        read
    }

    /// How long its lines are kept; `None`: for ever.
    pub fn retention(&self) -> Option<Duration> {
        days(self.retention_days)
    }
}
