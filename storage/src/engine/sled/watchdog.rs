//! Notices a commit that does not come back: after an I/O error sled's `flush` can wait for ever.

use super::super::{EngineError, OnFailure};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Watches one thread's work.
pub struct Watchdog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    begun: Option<Instant>,
    ended: bool,
}

impl Watchdog {
    /// Reports work that takes longer than `limit`.
    pub fn start(limit: Duration, on_failure: OnFailure) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let watched = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("storage-watchdog".into())
            .spawn(move || watch(&watched, limit, &on_failure))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Work begins. Costs one uncontended lock and wakes nobody: the watcher looks by itself.
    pub fn begin(&self) {
        self.shared.state.lock().begun = Some(Instant::now());
    }

    /// Work has ended.
    pub fn end(&self) {
        self.shared.state.lock().begun = None;
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.state.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A watcher that panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn watch(shared: &Shared, limit: Duration, on_failure: &OnFailure) {
    let pause = limit / 10;
    let mut state = shared.state.lock();
    while !state.ended {
        if state.begun.is_some_and(|begun| begun.elapsed() > limit) {
            drop(state);
            on_failure(&EngineError::Failed(format!(
                "the disk did not confirm a commit within {} s; look into the system's log for why, then start again",
                limit.as_secs_f32()
            )));
            return;
        }
        shared.changed.wait_for(&mut state, pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::{Receiver, unbounded};

    fn watchdog(limit: Duration) -> (Watchdog, Receiver<EngineError>) {
        let (sender, told) = unbounded();
        let on_failure: OnFailure =
            Arc::new(move |error| sender.send(error.clone()).expect("the test listens"));
        (Watchdog::start(limit, on_failure).expect("thread"), told)
    }

    #[test]
    fn work_that_does_not_end_is_reported_once() {
        let (watchdog, told) = watchdog(Duration::from_millis(1));
        watchdog.begin();
        let error = told.recv().expect("told");
        assert!(matches!(error, EngineError::Failed(_)));
        watchdog.end();
        watchdog.begin();
        drop(watchdog);
        assert!(told.recv().is_err(), "told once, and the thread has ended");
    }

    #[test]
    fn work_that_ends_in_time_is_not() {
        let (watchdog, told) = watchdog(Duration::from_secs(600));
        for _ in 0..1_000 {
            watchdog.begin();
            watchdog.end();
        }
        drop(watchdog);
        assert!(told.recv().is_err());
    }
}
