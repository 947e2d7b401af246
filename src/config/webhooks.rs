//! `[webhooks]` and `[egress]`: deliveries, and what the service may reach on behalf of its callers.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::addresses::range;
use super::render;
use super::section::section;
use super::storage::days;
use super::values::{integer, list, or_empty, path, text};

section! {
    /// `[webhooks]`: deliveries.
    pub struct Webhooks {
        /// The wait before each retry, from the end of the attempt before.
        pub retry_delays_seconds: Vec<u64> = list(0..=32, integer(1..=30 * 86_400)),
        /// The bound of one attempt as a whole.
        pub attempt_timeout_seconds: u64 = integer(1..=300),
        /// How long deliveries that ended are kept; 0: for ever.
        pub delivery_retention_days: u64 = integer(0..=36_500),
    }
}

impl Webhooks {
    /// The wait before each retry, from the end of the attempt before.
    pub fn retry_delays(&self) -> Vec<Duration> {
        self.retry_delays_seconds
            .iter()
            .copied()
            .map(Duration::from_secs)
            .collect()
    }

    /// The bound of one attempt as a whole.
    pub fn attempt_timeout(&self) -> Duration {
        Duration::from_secs(self.attempt_timeout_seconds)
    }

    /// How long deliveries that ended are kept; `None`: for ever.
    pub fn delivery_retention(&self) -> Option<Duration> {
        days(self.delivery_retention_days)
    }
}

section! {
    /// `[egress]`: what input images and webhooks may reach.
    pub struct Egress {
        /// Ranges that are opened although they are not public.
        #[serde(serialize_with = "render::as_strings")]
        pub allow: Vec<IpNet> = list(0..=256, text(range)),
        /// Ranges that are closed although they are public, or part of `allow`.
        #[serde(serialize_with = "render::as_strings")]
        pub deny: Vec<IpNet> = list(0..=256, text(range)),
        /// Certificate authorities that are trusted besides the system's.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub extra_ca_file: Option<PathBuf> = text(or_empty(path)),
    }
}
