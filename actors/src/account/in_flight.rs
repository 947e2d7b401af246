//! Counts the creations in flight, in total and per account: from the moment when a creation is sent to its account's actor until its
//! caller has the reply.
//!
//! Calls that arrive faster than the actor can decide and write them would wait ever longer, until every caller times out. Load
//! shedding reads these counts and refuses a call before it costs anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of creations in flight. Clones share it.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Counter>);

#[derive(Default)]
struct Counter {
    now: AtomicUsize,
    /// On the counter of one account: the counter of all accounts.
    all: Option<InFlight>,
}

#[must_use = "the creation is in flight until this is dropped"]
pub struct InFlightGuard(InFlight);

impl InFlight {
    /// A counter of one account that counts in `all` too.
    pub fn within(all: &Self) -> Self {
        Self(Arc::new(Counter {
            now: AtomicUsize::new(0),
            all: Some(all.clone()),
        }))
    }

    pub fn count(&self) -> usize {
        self.0.now.load(Ordering::Relaxed)
    }

    pub fn begin(&self) -> InFlightGuard {
        self.each(|number| number.fetch_add(1, Ordering::Relaxed));
        InFlightGuard(self.clone())
    }

    fn each(&self, step: impl Fn(&AtomicUsize) -> usize) {
        step(&self.0.now);
        if let Some(all) = &self.0.all {
            step(&all.0.now);
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.0.each(|number| number.fetch_sub(1, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creation_counts_for_its_account_and_in_all_until_its_guard_is_dropped() {
        let all = InFlight::default();
        let [one, other] = [(); 2].map(|()| InFlight::within(&all));
        let counts = || [&one, &other, &all].map(InFlight::count);
        let first = one.begin();
        let second = other.begin();
        assert_eq!(counts(), [1, 1, 2]);
        drop(first);
        assert_eq!(counts(), [0, 1, 1]);
        drop(second);
        assert_eq!(counts(), [0, 0, 0]);
    }
}
