//! Counts the attempts per delivery in bounded memory.

use parking_lot::Mutex;
use std::collections::HashMap;

/// When more deliveries arrive, all counts restart.
const MAX_DELIVERIES: usize = 10_000;
/// Characters of an id that are compared. An id of Tintype has 36.
const MAX_ID_CHARS: usize = 100;

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<String, u32>>);

impl Attempts {
    /// Counts an attempt; returns its number, from 1.
    pub fn count(&self, delivery: &str) -> u32 {
        let mut counts = self.0.lock();
        let id: String = delivery.chars().take(MAX_ID_CHARS).collect();
        if counts.len() >= MAX_DELIVERIES && !counts.contains_key(&id) {
            counts.clear();
        }
        let count = counts.entry(id).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delivery_has_its_own_count() {
        let attempts = Attempts::default();
        let counted = ["a", "a", "b", "a"].map(|id| attempts.count(id));
        assert_eq!(counted, [1, 2, 1, 3]);
    }

    #[test]
    fn memory_is_bounded() {
        let attempts = Attempts::default();
        for id in 0..MAX_DELIVERIES {
            attempts.count(&id.to_string());
        }
        assert_eq!(attempts.count("0"), 2);
        assert_eq!(attempts.count(&"x".repeat(1_000)), 1);
        assert_eq!(attempts.0.lock().len(), 1);
        assert!(attempts.0.lock().keys().all(|id| id.len() == MAX_ID_CHARS));
    }
}
