//! Lines of the log that any caller could cause with each call, and so fill the disk: bounded here to a few a second.
//!
//! The library of the HTTP server logs each request that it cannot read as an error. These are counted, and told together. Of the
//! lines about faults of the object store the first of each second is told as it is, and the others are counted.

use crate::images::FAULT_TARGET;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// Where the library logs them.
const TARGET: &str = "actix_http::h1::dispatcher";
/// What their messages begin with; the one that is the server's own fault is left alone.
const BEGINS: &str = "stream error: ";
const OWN_FAULT: &str = "stream error: internal error";

/// Malformed requests that have not been told yet, of all servers of the process.
static MALFORMED: AtomicU64 = AtomicU64::new(0);

/// A fault of the object store has been told since the last report.
static FAULT_TOLD: AtomicBool = AtomicBool::new(false);

/// Faults of the object store that have not been told yet.
static FAULTS: AtomicU64 = AtomicU64::new(0);

/// Logs how many lines were held back since the last call, if any. To be called once a second.
pub fn report() {
    let count = MALFORMED.swap(0, Ordering::Relaxed);
    if count > 0 {
        tracing::info!(count, "refused malformed or broken requests");
    }
    FAULT_TOLD.store(false, Ordering::Relaxed);
    let count = FAULTS.swap(0, Ordering::Relaxed);
    if count > 0 {
        tracing::error!(count, "further faults of the object store");
    }
}

/// Holds lines back, and counts them.
pub struct BoundLines;

// As a layer, which judges for all: the library's filters of single layers lose count when they refuse an event.
impl<S: Subscriber> Layer<S> for BoundLines {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if metadata.target() == FAULT_TARGET {
            let is_first = !FAULT_TOLD.swap(true, Ordering::Relaxed);
            FAULTS.fetch_add(u64::from(!is_first), Ordering::Relaxed);
            return is_first;
        }
        if *metadata.level() != Level::ERROR || metadata.target() != TARGET {
            return true;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let is_malformed = message.0.starts_with(BEGINS) && message.0 != OWN_FAULT;
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

    /// What the log has once this is done.
    fn logged(work: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let layer = fmt::layer().with_writer(lines.clone()).with_ansi(false);
        let log = Registry::default().with(layer).with(BoundLines);
        tracing::subscriber::with_default(log, work);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The counts are of the whole process.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    #[test]
    fn malformed_requests_are_told_together_and_all_other_lines_as_they_come() {
        let _turn = ONE_AT_A_TIME.lock();
        let told = logged(|| {
            for _ in 0..3 {
                tracing::error!(target: TARGET, "stream error: {}", "request parse error");
            }
            tracing::error!(target: TARGET, "{OWN_FAULT}");
            tracing::error!("stream error: of another target");
            report();
            report();
        });
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].contains(OWN_FAULT) && told[1].contains("of another target"));
        assert!(told[2].contains("count=3") && told[2].contains("INFO"));
    }

    #[test]
    fn faults_of_the_object_store_are_told_once_and_then_counted_until_the_next_report() {
        let _turn = ONE_AT_A_TIME.lock();
        let told = logged(|| {
            report();
            for second in 1..=2 {
                for call in 0..1_000 {
                    tracing::error!(target: FAULT_TARGET, second, call, "the object store hangs");
                }
                report();
            }
            report();
        });
        assert_eq!(told.len(), 4, "{told:?}");
        for (second, lines) in told.chunks(2).enumerate() {
            let first = format!("the object store hangs second={} call=0", second + 1);
            assert!(lines[0].contains(&first), "{}", lines[0]);
            assert!(lines[1].contains("count=999") && lines[1].contains("ERROR"));
        }
    }
}
