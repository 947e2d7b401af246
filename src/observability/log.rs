//! The log.

use crate::config::{Log, LogFormat};
use std::io::IsTerminal as _;
use tracing_subscriber::EnvFilter;

/// Begins to log to standard error. Only the first call counts.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // A file or a journal has no colours.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    // A second start, as in tests that share a process, is refused by the library and changes nothing.
    let _ = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
