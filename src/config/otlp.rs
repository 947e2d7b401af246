//! `[otlp]`: where traces of jobs are sent.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::addresses::base_url;
use super::backends::headers;
use super::reader::Section;
use super::render;
use super::secret::Secret;
use super::values::{integer, number, or_empty, private, text};

/// `[otlp]`: traces for an OpenTelemetry collector.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Otlp {
    /// The collector, without a slash at the end; `None`: no traces.
    #[serde(serialize_with = "render::or_blank")]
    pub endpoint: Option<String>,
    /// The part of all jobs that is traced, 0 to 1.
    pub sample_ratio: f64,
    /// What the service is called in traces.
    pub service_name: String,
    /// How long one export may take.
    pub timeout_seconds: u64,
    /// Sent with every export.
    pub headers: BTreeMap<String, Secret>,
}

impl Otlp {
    pub(super) fn read(mut s: Section<'_>) -> Self {
        let name = |text: &str| {
            let fits = (1..=128).contains(&text.len()) && !text.chars().any(char::is_control);
            let expected = "a name of 1 to 128 bytes";
            fits.then(|| text.to_owned())
                .ok_or_else(|| expected.to_owned())
        };
        let read = Self {
            endpoint: s.required("endpoint", private(or_empty(base_url))),
            sample_ratio: s.required("sample_ratio", number(0.0..=1.0)),
            service_name: s.required("service_name", text(name)),
            timeout_seconds: s.required("timeout_seconds", integer(1..=300)),
            headers: headers(&mut s),
        };
        s.finish();
        read
    }

    /// How long one export may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}
