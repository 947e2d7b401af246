//! Detects a hanging disk. A [`Watchdog`] observes a thread's work (after an I/O error sled's `flush` can wait forever);
//! [`run_watched`] bounds opening and closing, which run on a separate thread.
//!
//! The observed thread announces before each step how long the step may take. If a step takes longer, the process ends; the thread may
//! never return.

use super::super::{EngineError, OnFailure};
use super::spawn;
use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The least limit of an opening step, whatever the commit timeout.
pub const SHORTEST_LIMIT: Duration = Duration::from_secs(5);
/// Checks per step limit.
const CHECKS_PER_STEP: u32 = 10;
/// sled reads its whole log when it opens. No healthy disk is slower.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// The progress of a thread. Clones share it.
#[derive(Clone)]
pub struct Steps {
    usual: Duration,
    /// Of the current step.
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl Steps {
    fn new(usual: Duration) -> Self {
        Self {
            usual,
            deadline: Arc::default(),
        }
    }

    /// Starts a step that may take as long as a commit. Costs one uncontended lock and no wake-up: the observer polls.
    pub fn begin(&self) {
        self.begin_read(0);
    }

    /// Starts a step that also reads `bytes` bytes.
    pub fn begin_read(&self, bytes: u64) {
        let reading = Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND);
        *self.deadline.lock() = Some(Instant::now() + self.usual + reading);
    }

    /// Ends the current step. The thread may now wait for work.
    pub fn end(&self) {
        *self.deadline.lock() = None;
    }

    fn deadline_exceeded(&self) -> bool {
        self.deadline.lock().is_some_and(|it| Instant::now() > it)
    }
}

/// Observes one thread's work until it is dropped.
pub struct Watchdog {
    pub steps: Steps,
    /// Its drop ends the watchdog's thread.
    alive: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Reports the first step that takes longer than `limit`.
    pub fn start(limit: Duration, on_failure: OnFailure) -> Result<Self, EngineError> {
        let steps = Steps::new(limit);
        let observed = steps.clone();
        let (alive, dropped) = bounded(0);
        let run = move || {
            while dropped.recv_timeout(limit / CHECKS_PER_STEP) == Err(RecvTimeoutError::Timeout) {
                if observed.deadline_exceeded() {
                    return on_failure(&EngineError::Failed(format!(
                        "the disk did not confirm a commit within {} s; check the system log for the cause, then start again",
                        limit.as_secs_f32()
                    )));
                }
            }
        };
        Ok(Self {
            steps,
            alive: Some(alive),
            thread: Some(spawn("storage-watchdog", run)?),
        })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the watchdog thread needs no report.
            let _ = thread.join();
        }
    }
}

/// Does the work, unless one of its steps takes too long.
pub fn run_watched<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&Steps) -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    let steps = Steps::new(limit);
    steps.begin();
    let (sender, receiver) = bounded(1);
    let of_work = steps.clone();
    // The receiver is gone after a late step.
    spawn("opener", move || drop(sender.send(work(&of_work))))?;
    loop {
        match receiver.recv_timeout(limit / CHECKS_PER_STEP) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(EngineError::Failed("opening the store panicked".into()));
            }
            Err(RecvTimeoutError::Timeout) if steps.deadline_exceeded() => {
                return Err(EngineError::Failed(
                    "the disk does not respond while the store is opened; check the system log for the cause, then start again"
                        .into(),
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::{Receiver, unbounded};

    fn watchdog(limit: Duration) -> (Watchdog, Receiver<EngineError>) {
        let (sender, failures) = unbounded();
        let on_failure: OnFailure =
            Arc::new(move |error| sender.send(error.clone()).expect("the test listens"));
        (
            Watchdog::start(limit, on_failure).expect("thread"),
            failures,
        )
    }

    #[test]
    fn work_that_does_not_end_is_reported_once() {
        let (watchdog, failures) = watchdog(Duration::from_millis(1));
        watchdog.steps.begin();
        let error = failures.recv().expect("a failure");
        assert!(matches!(error, EngineError::Failed(_)));
        watchdog.steps.end();
        watchdog.steps.begin();
        drop(watchdog);
        assert!(
            failures.recv().is_err(),
            "reported once, and the thread has ended"
        );
    }

    #[test]
    fn work_that_ends_in_time_is_not_reported() {
        let (watchdog, failures) = watchdog(Duration::from_secs(600));
        for _ in 0..1_000 {
            watchdog.steps.begin();
            watchdog.steps.end();
        }
        drop(watchdog);
        assert!(failures.recv().is_err());
    }

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn work_that_hangs_is_an_error_and_work_that_progresses_is_not() {
        let (keep, held) = crossbeam_channel::bounded::<()>(0);
        let hung = run_watched(SHORT, move |_| {
            let _ = held.recv();
            Ok(())
        });
        assert!(
            hung.unwrap_err()
                .to_string()
                .contains("the disk does not respond")
        );
        drop(keep);
        let goes_on = run_watched(SHORTEST_LIMIT * 100, |steps| {
            steps.begin();
            Ok(7)
        });
        assert_eq!(goes_on.unwrap(), 7);
    }

    #[test]
    fn a_step_that_reads_much_data_has_a_longer_deadline() {
        let steps = Steps::new(Duration::ZERO);
        steps.begin_read(600 << 20);
        assert!(!steps.deadline_exceeded());
    }
}
