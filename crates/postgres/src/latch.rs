//! A one-shot event for any number of waiters.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Default)]
pub struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    pub fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

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
