//! Opening and letting go that do not wait for ever: a disk that hangs meanwhile is told of, as one that hangs later is.
//!
//! The work is done on a thread of its own, which says before each step how long that may take. When a step takes longer,
//! whoever opens gets an error, and the process ends; the thread may never come back.

use super::super::EngineError;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A step of opening may take this long whatever the time-out of a commit is.
pub const SHORTEST_LIMIT: Duration = Duration::from_secs(5);
/// How often the thread's steps are looked at.
const LOOKS_PER_STEP: u32 = 10;
/// sled reads its whole log when it is opened. No disk that is well is slower than this.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// What the thread says of its steps. A clone says the same.
#[derive(Clone)]
pub struct Steps {
    usual: Duration,
    deadline: Arc<Mutex<Instant>>,
}

impl Steps {
    fn new(usual: Duration) -> Self {
        Self {
            usual,
            deadline: Arc::new(Mutex::new(Instant::now() + usual)),
        }
    }

    /// A step begins that is to take no longer than a commit may.
    pub fn begin(&self) {
        *self.deadline.lock() = Instant::now() + self.usual;
    }

    /// A step begins that also reads so many bytes.
    pub fn begin_to_read(&self, bytes: u64) {
        let reading = Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND);
        *self.deadline.lock() = Instant::now() + self.usual + reading;
    }

    fn is_late(&self) -> bool {
        Instant::now() > *self.deadline.lock()
    }
}

/// Does the work, unless one of its steps takes too long.
pub fn watched<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&Steps) -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    let steps = Steps::new(limit);
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let of_work = steps.clone();
    std::thread::Builder::new()
        .name("opener".into())
        // Nobody listens any more once a step was late.
        .spawn(move || drop(sender.send(work(&of_work))))
        .map_err(|error| EngineError::Failed(format!("no thread to open the store: {error}")))?;
    loop {
        match receiver.recv_timeout(limit / LOOKS_PER_STEP) {
            Ok(outcome) => return outcome,
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => {
                return Err(EngineError::Failed("opening the store panicked".into()));
            }
            Err(crossbeam_channel::RecvTimeoutError::Timeout) if steps.is_late() => {
                return Err(EngineError::Failed(
                    "the disk does not answer while the store is opened; look into the system's log for why, then start again"
                        .into(),
                ));
            }
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn work_that_hangs_is_an_error_and_work_that_goes_on_is_not() {
        let (keep, held) = crossbeam_channel::bounded::<()>(0);
        let hung = watched(SHORT, move |_| {
            let _ = held.recv();
            Ok(())
        });
        assert!(
            hung.unwrap_err()
                .to_string()
                .contains("the disk does not answer")
        );
        drop(keep);
        let goes_on = watched(SHORTEST_LIMIT * 100, |steps| {
            steps.begin();
            Ok(7)
        });
        assert_eq!(goes_on.unwrap(), 7);
    }

    #[test]
    fn what_has_much_to_read_may_take_longer() {
        let steps = Steps::new(Duration::ZERO);
        steps.begin_to_read(600 << 20);
        assert!(!steps.is_late());
    }
}
