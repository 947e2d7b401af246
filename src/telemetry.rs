//! The log.

use crate::config::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

/// Begins to log to standard error. Only the first call counts.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // A second start, as in tests that share a process, is refused by the library and changes nothing.
    let _ = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}
