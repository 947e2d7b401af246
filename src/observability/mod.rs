//! Metrics, traces and the log.

pub(crate) mod log;
pub(crate) mod log_rate_limit;
pub(crate) mod metrics;
pub(crate) mod request_log;
pub(crate) mod traces;
