//! `[compat]`: the synchronous interfaces.

use std::time::Duration;

use super::section::section;
use super::values::integer;

section! {
    pub struct Compat {
        /// How long a request may take.
        pub(super) timeout_seconds: u64 = integer(1..=86_400),
    }
}

impl Compat {
    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
