//! What several nodes that share a store make of one limit: each counts its own calls, and takes those of the others out of its bucket.

use super::{Limiter, Limiters, millis};
use governor::NotUntil;
use governor::middleware::StateSnapshot;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::api_key::RateLimit;
use tintype_storage::domain::rate_count::{Limited, RateCount};
use uuid::Uuid;

/// What a limiter knows of the calls of other nodes, and they of its own.
#[derive(Default)]
pub(super) struct SharedCounts {
    /// Calls that this process has admitted.
    admitted: AtomicU64,
    /// Those of them that came before the bucket was last full.
    before: AtomicU64,
    /// Calls that were left when the limiter was last asked.
    remaining: AtomicU32,
    /// Calls that others have admitted, and that are not taken out of the bucket yet.
    debt: AtomicU64,
    /// The other nodes are told.
    is_told: AtomicBool,
}

pub(super) type Checked = Result<StateSnapshot, NotUntil<Duration>>;

impl<K: Copy + Eq + Hash> Limiters<K> {
    /// What other nodes are to hear: what was admitted since the bucket was last full, once a quarter of a burst is used.
    pub fn counts(&self, limited: Limited, id: impl Fn(&K) -> Uuid) -> Vec<RateCount> {
        let now = (self.elapsed)();
        let table = self.table.read();
        let counted = table.limiters.iter().filter_map(|(key, limiter)| {
            // What could not be taken out before may have come in.
            let _ = limiter.settle(now);
            Some(RateCount {
                limited,
                id: id(key),
                rate: limiter.rate,
                admitted: limiter.admitted_lately(now)?,
            })
        });
        counted.collect()
    }

    /// Takes calls out of a bucket that another node has admitted. What is not there is taken out as it comes in.
    pub fn charge(&self, key: K, rate: RateLimit, calls: u64) {
        if calls > 0 {
            let limiter = self.limiter(key, rate);
            limiter.shared.debt.fetch_add(calls, Ordering::Relaxed);
            let _ = limiter.settle((self.elapsed)());
        }
    }
}

impl Limiter {
    /// Counts a call, once all that others have admitted is taken out.
    pub(super) fn check(&self, now: Duration) -> Checked {
        self.settle(now)?;
        let checked = self.bucket.check();
        self.note(&checked, now);
        if checked.is_ok() {
            self.shared.admitted.fetch_add(1, Ordering::Relaxed);
        }
        checked
    }

    /// Takes what others have admitted out of the bucket.
    ///
    /// # Errors
    /// Not all of it is there.
    fn settle(&self, now: Duration) -> Result<(), NotUntil<Duration>> {
        let debt = &self.shared.debt;
        let less = |debt: u64| debt.checked_sub(1);
        while debt
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
        {
            let checked = self.bucket.check();
            self.note(&checked, now);
            if let Err(until) = checked {
                debt.fetch_add(1, Ordering::Relaxed);
                return Err(until);
            }
        }
        Ok(())
    }

    /// How long what others have admitted takes to come in.
    pub(super) fn debt_time(&self) -> Duration {
        let debt = self.shared.debt.load(Ordering::Relaxed);
        Duration::from_secs(debt / u64::from(self.rate.per_second.max(1)))
    }

    pub(super) fn has_debt(&self) -> bool {
        self.shared.debt.load(Ordering::Relaxed) > 0
    }

    fn note(&self, checked: &Checked, now: Duration) {
        let left = checked
            .as_ref()
            .map(StateSnapshot::remaining_burst_capacity);
        let left = left.unwrap_or_default();
        self.shared.remaining.store(left, Ordering::Relaxed);
        self.asked.store(millis(now), Ordering::Relaxed);
    }

    /// What was admitted since the bucket was last full; `None` where the others need not know.
    fn admitted_lately(&self, now: Duration) -> Option<u64> {
        let SharedCounts {
            admitted,
            before,
            remaining,
            is_told,
            ..
        } = &self.shared;
        let since = millis(now).saturating_sub(self.asked.load(Ordering::Relaxed));
        let come_in = since.saturating_mul(u64::from(self.rate.per_second)) / 1_000;
        let left = u64::from(remaining.load(Ordering::Relaxed)).saturating_add(come_in);
        let burst = u64::from(self.rate.burst);
        let used = burst.saturating_sub(left);
        let all = admitted.load(Ordering::Relaxed);
        if used == 0 && !self.has_debt() {
            before.store(all, Ordering::Relaxed);
            is_told.store(false, Ordering::Relaxed);
            return None;
        }
        if used * 4 < burst && !is_told.load(Ordering::Relaxed) {
            return None;
        }
        is_told.store(true, Ordering::Relaxed);
        Some(all - before.load(Ordering::Relaxed)).filter(|it| *it > 0)
    }
}

#[cfg(test)]
mod tests;
