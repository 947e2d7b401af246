//! Sets up the log.

use super::log_rate_limit::LogRateLimit;
use crate::config::{Log, LogFormat};
use std::io::IsTerminal as _;
use std::panic;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry, fmt};

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
        .with(LogRateLimit);
    // The library rejects a second start, as in tests that share a process.
    if log.try_init().is_ok() && is_json {
        log_panics();
    }
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

    #[test]
    fn a_panic_is_logged_with_its_location() {
        let mut file = tempfile::tempfile().unwrap();
        let lines = fmt::layer().with_writer(file.try_clone().unwrap());
        let log = Registry::default().with(lines.json().flatten_event(true));
        tracing::subscriber::with_default(log, || {
            log_panics();
            panic::catch_unwind(|| panic!("a {}", "bug")).unwrap_err();
            // That of the standard library prints the panics of other tests.
            drop(panic::take_hook());
        });
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["reason"], "a bug");
        let location = line["location"].as_str().unwrap();
        assert!(location.starts_with(file!()), "{location}");
    }
}
