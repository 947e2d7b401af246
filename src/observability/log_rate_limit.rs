//! Rate limits for log lines that any caller can cause with every call, and so fill the disk.
//!
//! The HTTP library logs an error for each malformed request; this layer counts these and logs the count once a second. Of the object
//! store's errors it logs the first of each second and counts the others.

use crate::objects::FAULT_TARGET;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The library's log target for malformed requests.
const TARGET: &str = "actix_http::h1::dispatcher";
const MALFORMED_PREFIX: &str = "stream error: ";
/// The server's own fault, which is always logged.
const INTERNAL_ERROR: &str = "stream error: internal error";

/// Malformed requests since the last report, over all servers of the process.
static MALFORMED: AtomicU64 = AtomicU64::new(0);

/// Was an object store error logged since the last report?
static FAULT_LOGGED: AtomicBool = AtomicBool::new(false);

/// Suppressed object store errors since the last report.
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// Logs the number of lines suppressed since the last call, if any. Call it once a second.
pub fn report() {
    let count = MALFORMED.swap(0, Ordering::Relaxed);
    if count > 0 {
        tracing::info!(count, "refused malformed or broken requests");
    }
    FAULT_LOGGED.store(false, Ordering::Relaxed);
    let count = FAULTS.swap(0, Ordering::Relaxed);
    if count > 0 {
        tracing::error!(count, "suppressed further object store errors");
    }
}

pub struct LogRateLimit;

// A global layer, because the library's per-layer filters lose track when they reject an event.
impl<S: Subscriber> Layer<S> for LogRateLimit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if metadata.target() == FAULT_TARGET {
            let is_first = !FAULT_LOGGED.swap(true, Ordering::Relaxed);
            FAULTS.fetch_add(u64::from(!is_first), Ordering::Relaxed);
            return is_first;
        }
        if *metadata.level() != Level::ERROR || metadata.target() != TARGET {
            return true;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let is_malformed = message.0.starts_with(MALFORMED_PREFIX) && message.0 != INTERNAL_ERROR;
        if is_malformed {
            MALFORMED.fetch_add(1, Ordering::Relaxed);
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

    fn logged(work: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let layer = fmt::layer().with_writer(lines.clone()).with_ansi(false);
        let log = Registry::default().with(layer).with(LogRateLimit);
        tracing::subscriber::with_default(log, work);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The counters belong to the process, so these tests must not run in parallel.
    static SERIAL: Mutex<()> = Mutex::new(());

    #[test]
    fn malformed_requests_are_counted_and_other_lines_logged() {
        let _guard = SERIAL.lock();
        let lines = logged(|| {
            for _ in 0..3 {
                tracing::error!(target: TARGET, "stream error: {}", "request parse error");
            }
            tracing::error!(target: TARGET, "{INTERNAL_ERROR}");
            tracing::error!("stream error: of another target");
            report();
            report();
        });
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains(INTERNAL_ERROR) && lines[1].contains("of another target"));
        assert!(lines[2].contains("count=3") && lines[2].contains("INFO"));
    }

    #[test]
    fn object_store_errors_are_logged_once_per_report_and_then_counted() {
        let _guard = SERIAL.lock();
        let lines = logged(|| {
            report();
            for second in 1..=2 {
                for call in 0..1_000 {
                    tracing::error!(target: FAULT_TARGET, second, call, "the object store hangs");
                }
                report();
            }
            report();
        });
        assert_eq!(lines.len(), 4, "{lines:?}");
        for (second, pair) in lines.chunks(2).enumerate() {
            let first = format!("the object store hangs second={} call=0", second + 1);
            assert!(pair[0].contains(&first), "{}", pair[0]);
            assert!(pair[1].contains("count=999") && pair[1].contains("ERROR"));
        }
    }
}
