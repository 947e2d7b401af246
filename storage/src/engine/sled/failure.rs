//! The first failure of an engine, reported once, and the latch with which closing waits for the engine's threads.

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
    pub fn new(on_failure: OnFailure) -> Self {
        Self {
            happened: AtomicBool::new(false),
            on_failure,
        }
    }

    /// Notes a failure; only the first one is reported.
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
    /// Opens it for good.
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
