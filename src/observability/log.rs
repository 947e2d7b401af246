//! Sets up the log.

use super::log_rate_limit::LogRateLimit;
use crate::config::{Log, LogFormat};
use std::io::IsTerminal as _;
use std::panic;
use tintype_storage::engine::LOGS_VALUES;
use tracing::{Level, Metadata};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, filter, fmt};

/// Starts logging to standard error. Later calls have no effect.
pub fn start(log: &Log) {
    let lines = fmt::layer()
        // Colours only on a terminal.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let is_json = log.format == LogFormat::Json;
    let (lines, filter) = match is_json {
        true => (lines.json().flatten_event(true).boxed(), log.filter.clone()),
        // Without the events of this module, which standard error has as text already.
        false => (
            lines.boxed(),
            format!("{},{}=off", log.filter, module_path!()),
        ),
    };
    let log = Registry::default()
        .with(lines)
        .with(EnvFilter::new(filter))
        .with(filter::filter_fn(holds_no_values))
        .with(LogRateLimit);
    // The library rejects a second start, as in tests that share a process.
    if log.try_init().is_ok() && is_json {
        log_panics();
    }
}

/// Stored values contain prompts and hashes of passwords.
fn holds_no_values(event: &Metadata<'_>) -> bool {
    let logs_values = || LOGS_VALUES.iter().any(|it| event.target().starts_with(it));
    *event.level() <= Level::INFO || !logs_values()
}

/// Logs why the process exits, for programs that read the log and skip lines that are not JSON. Standard error also has it as text.
pub fn log_exit(reason: &str) {
    tracing::error!(reason, "the process exits");
}

/// Logs each panic before the previous hook prints it.
fn log_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let location = info.location().map(tracing::field::display);
        let reason = info.payload_as_str();
        tracing::error!(location, reason, "a thread panicked");
        print(info);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Seek as _};

    /// Runs `log` with a subscriber of `layers`, and returns what it wrote.
    fn written<S>(layers: impl FnOnce(std::fs::File) -> S, log: impl FnOnce()) -> String
    where
        S: tracing::Subscriber + Send + Sync + 'static,
    {
        let mut file = tempfile::tempfile().unwrap();
        tracing::subscriber::with_default(layers(file.try_clone().unwrap()), log);
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn no_engine_logs_stored_values() {
        let layers = |file| {
            Registry::default()
                .with(fmt::layer().with_writer(file))
                .with(EnvFilter::new("trace"))
                .with(filter::filter_fn(holds_no_values))
        };
        let text = written(layers, || {
            tracing::trace!(target: LOGS_VALUES[0], "a page");
            tracing::debug!(target: LOGS_VALUES[1], "a statement");
            tracing::warn!(target: LOGS_VALUES[0], "a fault");
            tracing::trace!(target: "tintype::http", "a call");
        });
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].ends_with("a fault") && lines[1].ends_with("a call"),
            "{text}"
        );
    }

    #[test]
    fn a_panic_is_logged_with_its_location() {
        let layers = |file| {
            let lines = fmt::layer().with_writer(file);
            Registry::default().with(lines.json().flatten_event(true))
        };
        let text = written(layers, || {
            log_panics();
            panic::catch_unwind(|| panic!("a {}", "bug")).unwrap_err();
            // That of the standard library prints the panics of other tests.
            drop(panic::take_hook());
        });
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["reason"], "a bug");
        let location = line["location"].as_str().unwrap();
        assert!(location.starts_with(file!()), "{location}");
    }
}
