//! Metrics, log and traces of a running service.

mod charts;
mod collector;
mod figures;
mod log;
mod metrics;
mod own_address;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod traces;
