//! How many creations are under way, in all and of each account: between the moment when one is handed to its account's actor and
//! the one when its caller has the answer.
//!
//! What comes in faster than it can be decided and written would wait, each longer than the one before, until nobody is
//! answered in time. Whoever knows how many are under way can refuse the next one while that costs nothing yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of creations that are under way. A clone is the same number.
#[derive(Clone, Default)]
pub struct UnderWay(Arc<AtomicUsize>);

/// A creation that counts for as long as this lives.
#[must_use = "it counts for as long as this lives"]
pub struct Counted([UnderWay; 2]);

impl UnderWay {
    /// How many there are.
    pub fn now(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counted {
    /// One more of an account, and of all.
    pub fn among(of_account: &UnderWay, all: &UnderWay) -> Self {
        let both = [of_account, all].map(UnderWay::clone);
        both.iter().for_each(|it| {
            it.0.fetch_add(1, Ordering::Relaxed);
        });
        Self(both)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.iter().for_each(|it| {
            it.0.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counts_for_its_account_and_in_all_until_it_is_let_go() {
        let (one, other, all) = <(UnderWay, UnderWay, UnderWay)>::default();
        let counts = || [&one, &other, &all].map(UnderWay::now);
        let first = Counted::among(&one, &all);
        let second = Counted::among(&other, &all);
        assert_eq!(counts(), [1, 1, 2]);
        drop(first);
        assert_eq!(counts(), [0, 1, 1]);
        drop(second);
        assert_eq!(counts(), [0, 0, 0]);
    }
}
