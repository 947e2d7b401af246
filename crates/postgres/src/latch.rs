//! A latch: opened once, for all who wait.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Default)]
pub struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    /// Opens it for good.
    pub fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Returns once it is open.
    pub fn wait(&self) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_open {
            is_open = self
                .opened
                .wait(is_open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
