//! The first failure of an engine, reported once, and the latch through which closing waits for the engine's threads.

use super::{EngineError, OnFailure};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that the engine has failed. The committer and its watchdog may both find out.
pub struct Failure {
    happened: AtomicBool,
    on_failure: OnFailure,
}

impl Failure {
    pub fn new(on_failure: OnFailure) -> Self {
        Self {
            happened: AtomicBool::new(false),
            on_failure,
        }
    }

    /// Only the first failure is reported.
    pub fn report(&self, error: &EngineError) {
        if !self.happened.swap(true, Ordering::SeqCst) {
            (self.on_failure)(error);
        }
    }

    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }
}

/// A one-shot event for any number of waiters.
#[derive(Default)]
pub struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    pub fn open(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }

    pub fn wait(&self) {
        let mut open = self.open.lock();
        self.opened.wait_while(&mut open, |open| !*open);
    }
}

/// Opens a latch when dropped, also after a panic.
pub struct OpensLatch(pub Arc<Latch>);

impl Drop for OpensLatch {
    fn drop(&mut self) {
        self.0.open();
    }
}
