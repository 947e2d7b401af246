//! `[compat]`: the synchronous interfaces.

use std::time::Duration;

use serde::Serialize;

use super::reader::Section;
use super::values::integer;

/// `[compat]`: the synchronous interfaces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compat {
    /// How long a caller waits at most.
    pub timeout_seconds: u64,
}

impl Compat {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            timeout_seconds: s.required("timeout_seconds", integer(1..=86_400)),
        };
        s.finish();
        read
    }

    /// How long a caller waits at most.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
