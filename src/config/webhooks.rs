//! `[webhooks]` and `[egress]`: deliveries, and the addresses that the service may connect to for its callers.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::addresses::range;
use super::render;
use super::section::section;
use super::storage::days;
use super::values::{integer, list, or_empty, path, text};

section! {
    pub struct Webhooks {
        /// The delay before each retry, from the end of the previous attempt.
        pub retry_delays_seconds: Vec<u64> = list(0..=32, integer(1..=30 * 86_400)),
        /// Of a whole attempt.
        attempt_timeout_seconds: u64 = integer(1..=300),
        /// 0: ended deliveries are kept for ever.
        delivery_retention_days: u64 = integer(0..=36_500),
    }
}

impl Webhooks {
    /// The delay before each retry, from the end of the previous attempt.
    pub fn retry_delays(&self) -> Vec<Duration> {
        self.retry_delays_seconds
            .iter()
            .copied()
            .map(Duration::from_secs)
            .collect()
    }

    /// Of a whole attempt.
    pub fn attempt_timeout(&self) -> Duration {
        Duration::from_secs(self.attempt_timeout_seconds)
    }

    /// `None`: ended deliveries are kept for ever.
    pub fn delivery_retention(&self) -> Option<Duration> {
        days(self.delivery_retention_days)
    }
}

section! {
    /// `[egress]`: the addresses that input images and webhooks may use.
    pub struct Egress {
        /// Ranges that are allowed although they are not public.
        #[serde(serialize_with = "render::as_strings")]
        pub allow: Vec<IpNet> = list(0..=256, text(range)),
        /// Ranges that are denied although they are public, or part of `allow`.
        #[serde(serialize_with = "render::as_strings")]
        pub deny: Vec<IpNet> = list(0..=256, text(range)),
        /// Trusted certificate authorities, besides the system's.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub extra_ca_file: Option<PathBuf> = text(or_empty(path)),
    }
}
