//! `[otlp]`: where traces of jobs are sent.

use std::collections::BTreeMap;
use std::time::Duration;

use super::addresses::base_url;
use super::backends::headers;
use super::render;
use super::secret::Secret;
use super::section::section;
use super::values::{fitting, integer, number, or_empty, private, text};

section! {
    /// `[otlp]`: traces for an OpenTelemetry collector.
    pub struct Otlp {
        /// The collector, without a slash at the end; `None`: no traces.
        #[serde(serialize_with = "render::or_blank")]
        pub endpoint: Option<String> = private(or_empty(base_url)),
        /// The part of all jobs that is traced, 0 to 1.
        pub sample_ratio: f64 = number(0.0..=1.0),
        /// What the service is called in traces.
        pub service_name: String = text(service_name),
        /// How long one export may take.
        pub timeout_seconds: u64 = integer(1..=300),
        /// Sent with every export.
        pub headers: BTreeMap<String, Secret> = headers,
    }
}

fn service_name(text: &str) -> Result<String, String> {
    let is_fit = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
    fitting(text, is_fit, "a name of 1 to 128 bytes")
}

impl Otlp {
    /// How long one export may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
