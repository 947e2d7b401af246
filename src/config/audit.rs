//! `[audit]`: the log of operators' changes.

use std::time::Duration;

use super::section::section;
use super::storage::days;
use super::values::integer;

section! {
    pub struct Audit {
        /// 0: lines are kept for ever.
        pub(super) retention_days: u64 = integer(0..=36_500),
    }
}

impl Audit {
    /// `None`: lines are kept for ever.
    pub fn retention(&self) -> Option<Duration> {
        days(self.retention_days)
    }
}
