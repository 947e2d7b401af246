//! `[otlp]`: the export of job traces.

use std::collections::BTreeMap;
use std::time::Duration;

use super::addresses::base_url;
use super::backends::headers;
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{accept_if, integer, number, or_empty, redacted, text};

section! {
    /// `[otlp]`: traces for an OpenTelemetry collector.
    pub struct Otlp {
        /// The URL of the collector, without a slash at the end. `None`: no traces.
        #[serde(serialize_with = "render::or_blank")]
        pub endpoint: Option<String> = redacted(or_empty(base_url)),
        /// The share of jobs that are traced, from 0 to 1.
        pub sample_ratio: f64 = number(0.0..=1.0),
        pub service_name: String = text(service_name),
        /// Of one export.
        timeout_seconds: u64 = integer(1..=300),
        /// Sent with every export.
        pub headers: BTreeMap<String, Secret> = headers,
    }
}

fn service_name(text: &str) -> Result<String, String> {
    let is_valid = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
    accept_if(text, is_valid, "a name of 1 to 128 bytes")
}

impl Otlp {
    /// Of one export.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
