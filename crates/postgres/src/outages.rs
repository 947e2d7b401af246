//! The duration of the current outage, over all connections.

use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub struct Outages(Mutex<Ongoing>);

#[derive(Default)]
struct Ongoing {
    count: usize,
    since: Option<Instant>,
}

impl Outages {
    /// How long some connection has not worked; `None` if all work.
    pub fn duration(&self) -> Option<Duration> {
        self.change_ongoing(|it| it.since).map(|it| it.elapsed())
    }

    pub fn begin(&self) {
        self.change_ongoing(|it| {
            it.count += 1;
            it.since.get_or_insert_with(Instant::now);
        });
    }

    pub fn end(&self) {
        self.change_ongoing(|it| {
            it.count -= 1;
            if it.count == 0 {
                it.since = None;
            }
        });
    }

    fn change_ongoing<T>(&self, change: impl FnOnce(&mut Ongoing) -> T) -> T {
        change(&mut self.0.lock())
    }
}
