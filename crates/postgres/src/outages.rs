//! The duration of the current outage, over all connections.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub struct Outages(Mutex<UnderWay>);

#[derive(Default)]
struct UnderWay {
    count: usize,
    since: Option<Instant>,
}

impl Outages {
    /// How long some connection has not worked; `None` if all work.
    pub fn lasts(&self) -> Option<Duration> {
        self.under_way(|it| it.since).map(|it| it.elapsed())
    }

    pub fn begin(&self) {
        self.under_way(|it| {
            it.count += 1;
            it.since.get_or_insert_with(Instant::now);
        });
    }

    pub fn end(&self) {
        self.under_way(|it| {
            it.count -= 1;
            if it.count == 0 {
                it.since = None;
            }
        });
    }

    fn under_way<T>(&self, change: impl FnOnce(&mut UnderWay) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
