//! Traces of jobs for an OpenTelemetry collector: OTLP over HTTP, in its JSON form (OTLP 1.x, "OTLP/HTTP").
//!
//! A job is a trace, and the job id determines the trace id. So a job that resumes after a restart continues its trace; the process
//! in which the job ends builds the job's span from its record. Refused alternative: the OpenTelemetry crates, which bring a second
//! HTTP client and require spans to begin and end in one process.

mod encode;
mod exporter;
mod ids;
mod jobs;
mod span;

pub use exporter::{Exporter, TraceSetupError, TraceStats};
pub use jobs::JobTraces;
