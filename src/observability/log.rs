//! The log.

use super::bounded_lines::BoundLines;
use crate::config::{Log, LogFormat};
use std::io::IsTerminal as _;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

/// Begins to log to standard error. Only the first call counts.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let lines = fmt::layer()
        // A file or a journal has no colours.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let log = Registry::default()
        .with(lines)
        .with(filter)
        .with(BoundLines);
    // A second start, as in tests that share a process, is refused by the library and changes nothing.
    let _ = log.try_init();
}
