//! One limit over several nodes that share a store: each node counts its own calls and charges those of the others to its bucket.

use super::{Limiter, Limiters, millis};
use governor::NotUntil;
use governor::middleware::StateSnapshot;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::api_key::RateLimit;
use tintype_storage::domain::rate_count::{LimitKind, RateCount};
use uuid::Uuid;

#[derive(Default)]
pub(super) struct SharedCounts {
    /// Calls that this process admitted.
    admitted: AtomicU64,
    /// The part of `admitted` from before the bucket was last full.
    before: AtomicU64,
    /// Calls that remained at the last check.
    remaining: AtomicU32,
    /// Calls of other nodes that are not yet charged to the bucket.
    debt: AtomicU64,
    /// Whether the count is currently published to the other nodes.
    is_published: AtomicBool,
}

/// Calls of another node beyond an empty bucket.
#[derive(Clone, Copy, Debug)]
pub enum Excess {
    /// The next call waits until the bucket has refilled for them.
    BecomesDebt,
    IsForgiven,
}

pub(super) type CheckResult = Result<StateSnapshot, NotUntil<Duration>>;

impl<K: Copy + Eq + Hash> Limiters<K> {
    /// The counts to publish: calls admitted since the bucket was last full, once a quarter of the burst is used.
    pub fn counts(&self, limited: LimitKind, id: impl Fn(&K) -> Uuid) -> Vec<RateCount> {
        let now = (self.elapsed)();
        let table = self.table.read();
        let counted = table.limiters.iter().filter_map(|(key, limiter)| {
            // The bucket may have refilled enough since.
            let _ = limiter.pay_debt(now);
            Some(RateCount {
                limited,
                id: id(key),
                rate: limiter.rate,
                admitted: limiter.admitted_since_full(now)?,
            })
        });
        counted.collect()
    }

    /// Charges calls of another node to a bucket.
    pub fn charge(&self, key: K, rate: RateLimit, calls: u64, excess: Excess) {
        if calls == 0 {
            return;
        }
        let (limiter, now) = (self.limiter(key, rate), (self.elapsed)());
        match excess {
            Excess::BecomesDebt => {
                limiter.shared.debt.fetch_add(calls, Ordering::Relaxed);
                let _ = limiter.pay_debt(now);
            }
            Excess::IsForgiven => limiter.use_up(calls, now),
        }
    }
}

impl Limiter {
    /// Pays the debt, then counts a call.
    pub(super) fn check(&self, now: Duration) -> CheckResult {
        self.pay_debt(now)?;
        let checked = self.bucket.check();
        self.record(&checked, now);
        if checked.is_ok() {
            self.shared.admitted.fetch_add(1, Ordering::Relaxed);
        }
        checked
    }

    /// Charges the calls of other nodes to the bucket.
    ///
    /// # Errors
    /// The bucket is empty before all are charged.
    fn pay_debt(&self, now: Duration) -> Result<(), NotUntil<Duration>> {
        let debt = &self.shared.debt;
        let less = |debt: u64| debt.checked_sub(1);
        while debt
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
        {
            let checked = self.bucket.check();
            self.record(&checked, now);
            if let Err(until) = checked {
                debt.fetch_add(1, Ordering::Relaxed);
                return Err(until);
            }
        }
        Ok(())
    }

    /// Counts calls until the bucket is empty.
    fn use_up(&self, calls: u64, now: Duration) {
        let is_admitted = |_| {
            let checked = self.bucket.check();
            self.record(&checked, now);
            checked.is_ok()
        };
        // Stops at the first call that is not admitted.
        let _ = (0..calls).all(is_admitted);
    }

    /// How long the bucket takes to refill for the debt.
    pub(super) fn debt_time(&self) -> Duration {
        let debt = self.shared.debt.load(Ordering::Relaxed);
        Duration::from_secs(debt / u64::from(self.rate.per_second.max(1)))
    }

    pub(super) fn has_debt(&self) -> bool {
        self.shared.debt.load(Ordering::Relaxed) > 0
    }

    fn record(&self, checked: &CheckResult, now: Duration) {
        let remaining_calls = checked
            .as_ref()
            .map(StateSnapshot::remaining_burst_capacity);
        let remaining_calls = remaining_calls.unwrap_or_default();
        self.shared
            .remaining
            .store(remaining_calls, Ordering::Relaxed);
        self.last_checked.store(millis(now), Ordering::Relaxed);
    }

    /// Calls admitted since the bucket was last full; `None` if the other nodes need not know them.
    fn admitted_since_full(&self, now: Duration) -> Option<u64> {
        let SharedCounts {
            admitted,
            before,
            remaining,
            is_published,
            ..
        } = &self.shared;
        let since = millis(now).saturating_sub(self.last_checked.load(Ordering::Relaxed));
        let refilled = since.saturating_mul(u64::from(self.rate.per_second)) / 1_000;
        let remaining_calls = u64::from(remaining.load(Ordering::Relaxed)).saturating_add(refilled);
        let burst = u64::from(self.rate.burst);
        let used = burst.saturating_sub(remaining_calls);
        let all = admitted.load(Ordering::Relaxed);
        if used == 0 && !self.has_debt() {
            before.store(all, Ordering::Relaxed);
            is_published.store(false, Ordering::Relaxed);
            return None;
        }
        if used * 4 < burst && !is_published.load(Ordering::Relaxed) {
            return None;
        }
        is_published.store(true, Ordering::Relaxed);
        Some(all - before.load(Ordering::Relaxed)).filter(|it| *it > 0)
    }
}

#[cfg(test)]
mod tests;
