//! `[webhooks]` and `[egress]`: deliveries, and what the service may reach on behalf of its callers.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use serde::Serialize;

use super::addresses::range;
use super::reader::Section;
use super::render;
use super::storage::days;
use super::values::{free_name, integer, list, or_empty, text};

/// `[webhooks]`: deliveries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Webhooks {
    /// The wait before each retry, from the end of the attempt before.
    pub retry_delays_seconds: Vec<u64>,
    /// The bound of one attempt as a whole.
    pub attempt_timeout_seconds: u64,
    /// How long deliveries that ended are kept; 0: for ever.
    pub delivery_retention_days: u64,
}

impl Webhooks {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            retry_delays_seconds: s.required(
                "retry_delays_seconds",
                list(0..=32, integer(1..=30 * 86_400)),
            ),
            attempt_timeout_seconds: s.required("attempt_timeout_seconds", integer(1..=300)),
            delivery_retention_days: s.required("delivery_retention_days", integer(0..=36_500)),
        };
        s.finish();
        read
    }

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

/// `[egress]`: what input images and webhooks may reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Egress {
    /// Ranges that are opened although they are not public.
    #[serde(serialize_with = "render::as_strings")]
    pub allow: Vec<IpNet>,
    /// Ranges that are closed although they are public, or part of `allow`.
    #[serde(serialize_with = "render::as_strings")]
    pub deny: Vec<IpNet>,
    /// Certificate authorities that are trusted besides the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_ca_file: Option<PathBuf>,
}

impl Egress {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let read = Self {
            allow: s.required("allow", list(0..=256, text(range))),
            deny: s.required("deny", list(0..=256, text(range))),
            extra_ca_file: s
                .required("extra_ca_file", text(or_empty(free_name)))
                .map(PathBuf::from),
        };
        s.finish();
        read
    }
}
