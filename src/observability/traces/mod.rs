//! Traces of jobs for an OpenTelemetry collector: OTLP over HTTP, in its JSON form (OTLP 1.x, "OTLP/HTTP").
//!
//! A job is a trace, and its ids follow from the job's own: so a job that goes on after a restart goes on in the same trace,
//! and its span is made of its record when it ends, whichever process that happens in. Written here over the HTTP client that
//! is there anyway: the crates of OpenTelemetry would bring a second one, and follow spans that begin and end in one process.

mod encode;
mod exporter;
mod ids;
mod jobs;
mod span;

pub use exporter::{Exporter, TraceFigures, TraceSetupError};
pub use jobs::JobTraces;
