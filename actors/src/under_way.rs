//! How many creations are under way, in all and of each account: between the moment when one is handed to its account's actor and
//! the one when its caller has the answer.
//!
//! What comes in faster than it can be decided and written would wait, each longer than the one before, until nobody is
//! answered in time. Whoever knows how many are under way can refuse the next one while that costs nothing yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of creations that are under way. A clone is the same number.
#[derive(Clone, Default)]
pub struct UnderWay(Arc<Number>);

#[derive(Default)]
struct Number {
    now: AtomicUsize,
    /// Where each of them counts as well.
    all: Option<UnderWay>,
}

/// A creation that counts for as long as this lives.
#[must_use = "it counts for as long as this lives"]
pub struct Counted(UnderWay);

impl UnderWay {
    /// Those of one account, which count among all.
    pub fn among(all: &Self) -> Self {
        Self(Arc::new(Number {
            now: AtomicUsize::new(0),
            all: Some(all.clone()),
        }))
    }

    /// How many there are.
    pub fn now(&self) -> usize {
        self.0.now.load(Ordering::Relaxed)
    }

    /// One more.
    pub fn count(&self) -> Counted {
        self.each(|number| number.fetch_add(1, Ordering::Relaxed));
        Counted(self.clone())
    }

    fn each(&self, step: impl Fn(&AtomicUsize) -> usize) {
        step(&self.0.now);
        if let Some(all) = &self.0.all {
            step(&all.0.now);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.each(|number| number.fetch_sub(1, Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counts_for_its_account_and_in_all_until_it_is_let_go() {
        let all = UnderWay::default();
        let [one, other] = [(); 2].map(|()| UnderWay::among(&all));
        let counts = || [&one, &other, &all].map(UnderWay::now);
        let first = one.count();
        let second = other.count();
        assert_eq!(counts(), [1, 1, 2]);
        drop(first);
        assert_eq!(counts(), [0, 1, 1]);
        drop(second);
        assert_eq!(counts(), [0, 0, 0]);
    }
}
