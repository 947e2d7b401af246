//! The first failure of an engine: told once, and final. And the latch by which closing waits for an end that may never come.

use super::super::{EngineError, OnFailure};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Remembers that the engine has failed. Two threads may find out: the committer and its watchdog.
pub struct Failure {
    happened: AtomicBool,
    on_failure: OnFailure,
}

impl Failure {
    /// Not yet.
    pub fn new(on_failure: OnFailure) -> Self {
        Self {
            happened: AtomicBool::new(false),
            on_failure,
        }
    }

    /// Notes a failure; only the first one is passed on.
    pub fn report(&self, error: &EngineError) {
        if !self.happened.swap(true, Ordering::SeqCst) {
            (self.on_failure)(error);
        }
    }

    /// Has one been reported?
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::SeqCst)
    }
}

/// Opened once, for all who wait.
#[derive(Default)]
pub struct Latch {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    /// Lets everybody through from now on.
    pub fn open(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }

    /// Returns once it is open.
    pub fn wait(&self) {
        let mut open = self.open.lock();
        while !*open {
            self.opened.wait(&mut open);
        }
    }
}

/// Opens a latch when it is dropped, after a panic too.
pub struct OpensLatch(pub Arc<Latch>);

impl Drop for OpensLatch {
    fn drop(&mut self) {
        self.0.open();
    }
}
