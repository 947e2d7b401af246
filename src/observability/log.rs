//! Sets up the log.

use super::log_rate_limit::LogRateLimit;
use crate::config::{Log, LogFormat};
use std::io::IsTerminal as _;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

/// Starts logging to standard error. Later calls have no effect.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(&log.filter);
    let lines = fmt::layer()
        // Colours only on a terminal.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let log = Registry::default()
        .with(lines)
        .with(filter)
        .with(LogRateLimit);
    // The library rejects a second start, as in tests that share a process.
    let _ = log.try_init();
}
