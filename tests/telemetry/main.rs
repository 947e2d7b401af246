//! Metrics, log and traces of a running service.

mod charts;
mod collector;
mod log;
mod metrics;
mod metrics_listener;
mod metrics_text;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod traces;
