//! A one-shot event for any number of waiters.

use parking_lot::{Condvar, Mutex};

#[derive(Default)]
pub struct Latch {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Latch {
    pub fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }

    pub fn wait(&self) {
        let mut is_open = self.is_open.lock();
        self.opened.wait_while(&mut is_open, |is_open| !*is_open);
    }
}
