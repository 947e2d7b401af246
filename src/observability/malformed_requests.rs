//! Requests that the HTTP server cannot read, in the log.
//!
//! The server's library logs each of them as an error, so that any caller could fill the disk. Here they are
//! counted, and told together, at most once a second.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// Where the library logs them.
const TARGET: &str = "actix_http::h1::dispatcher";
/// What their messages begin with; the one that is the server's own fault is left alone.
const BEGINS: &str = "stream error: ";
const OWN_FAULT: &str = "stream error: internal error";

/// Those that have not been told yet, of all servers of the process.
static UNTOLD: AtomicU64 = AtomicU64::new(0);

/// Logs how many there were since the last call, if any.
pub fn report() {
    let count = UNTOLD.swap(0, Ordering::Relaxed);
    if count > 0 {
        tracing::info!(count, "refused malformed or broken requests");
    }
}

/// Keeps the library's own lines out of the log, and counts them.
pub struct CountMalformed;

// As a layer, which judges for all: the library's filters of single layers lose count when they refuse an event.
impl<S: Subscriber> Layer<S> for CountMalformed {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() != Level::ERROR || metadata.target() != TARGET {
            return true;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let is_malformed = message.0.starts_with(BEGINS) && message.0 != OWN_FAULT;
        if is_malformed {
            UNTOLD.fetch_add(1, Ordering::Relaxed);
        }
        !is_malformed
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::io;
    use std::sync::Arc;
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::{Registry, fmt};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn they_are_told_together_and_all_other_lines_as_they_come() {
        let lines = Lines::default();
        let layer = fmt::layer().with_writer(lines.clone()).with_ansi(false);
        let log = Registry::default().with(layer).with(CountMalformed);
        tracing::subscriber::with_default(log, || {
            for _ in 0..3 {
                tracing::error!(target: TARGET, "stream error: {}", "request parse error");
            }
            tracing::error!(target: TARGET, "{OWN_FAULT}");
            tracing::error!("stream error: of another target");
            report();
            report();
        });
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        let told: Vec<&str> = text.lines().collect();
        assert_eq!(told.len(), 3, "{text}");
        assert!(told[0].contains(OWN_FAULT) && told[1].contains("of another target"));
        assert!(told[2].contains("count=3") && told[2].contains("INFO"));
    }
}
