//! `[audit]`: the log of what operators change.

use std::time::Duration;

use super::section::section;
use super::storage::days;
use super::values::integer;

section! {
    /// `[audit]`: the log of changes.
    pub struct Audit {
        /// How long its lines are kept; 0: for ever.
        pub retention_days: u64 = integer(0..=36_500),
    }
}

impl Audit {
    /// How long its lines are kept; `None`: for ever.
    pub fn retention(&self) -> Option<Duration> {
        days(self.retention_days)
    }
}
