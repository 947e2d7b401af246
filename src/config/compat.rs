//! `[compat]`: the synchronous interfaces.

use std::time::Duration;

use super::section::section;
use super::values::integer;

section! {
    /// `[compat]`: the synchronous interfaces.
    pub struct Compat {
        /// How long a caller waits at most.
        pub timeout_seconds: u64 = integer(1..=86_400),
    }
}

impl Compat {
    /// How long a caller waits at most.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
