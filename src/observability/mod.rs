//! What the service tells of itself: metrics, traces and the log.

pub(crate) mod bounded_lines;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod request_log;
pub(crate) mod traces;
