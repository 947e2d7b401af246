//! Rate limits of API keys, of accounts and of people who change records: one small `governor` limiter for each recently counted one.

mod node_counts;

use crate::application::error::{Error, ErrorKind};
use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
pub use node_counts::Excess;
use node_counts::SharedCounts;
use parking_lot::RwLock;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tintype_storage::domain::api_key::{ApiKey, RateLimit};
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::fast_hash::HashMap;

/// Monotonic time since an arbitrary start.
pub type Elapsed = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The system's monotonic clock.
pub fn elapsed() -> Elapsed {
    let start = Instant::now();
    Arc::new(move || start.elapsed())
}

/// Below this size, full buckets are not swept.
const MIN_SWEEP_SIZE: usize = 1_024;

pub struct Limiters<K> {
    elapsed: Elapsed,
    table: RwLock<Table<K>>,
}

pub struct Rates {
    default: Option<RateLimit>,
    pub limiters: Limiters<KeyId>,
}

/// The limits of the key and the account after a call was counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateStates {
    pub key: Option<RateState>,
    pub account: Option<RateState>,
}

impl RateStates {
    /// Counts a call against the limit of its account, unless `key`, the limit of its key, already refuses the call.
    pub fn new(
        key: Option<RateState>,
        account: AccountId,
        rate: Option<RateLimit>,
        limiters: &Limiters<AccountId>,
    ) -> Self {
        let is_refused = key.is_some_and(|it| it.refused.is_some());
        let counts = rate.filter(|_| !is_refused);
        Self {
            key,
            account: counts.map(|rate| limiters.count(account, rate)),
        }
    }

    pub fn admit(&self) -> Result<(), Error> {
        admit(self.key)?;
        let account = self.account.map(|it| it.check("this account", "requests"));
        account.unwrap_or(Ok(()))
    }
}

struct Table<K> {
    limiters: HashMap<K, Arc<Limiter>>,
    /// The next size at which full buckets are dropped.
    sweep_at: usize,
}

struct Limiter {
    rate: RateLimit,
    bucket: RateLimiter<NotKeyed, InMemoryState, Ticks, StateInformationMiddleware>,
    /// Milliseconds.
    last_checked: AtomicU64,
    /// For several nodes that share the store.
    shared: SharedCounts,
}

#[derive(Clone)]
struct Ticks(Elapsed);

impl Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        (self.0)()
    }
}

/// The state of a limit after the current call was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    pub rate: RateLimit,
    /// Calls that are still admitted at once.
    pub remaining: u32,
    /// Seconds until the next call is admitted, if this one was refused.
    refused: Option<u32>,
}

pub fn admit(rate: Option<RateState>) -> Result<(), Error> {
    rate.map_or(Ok(()), |it| it.admit())
}

impl Rates {
    /// `default` applies to keys without their own limit; `None`: unlimited.
    pub fn new(default: Option<RateLimit>, elapsed: Elapsed) -> Self {
        Self {
            default,
            limiters: Limiters::new(elapsed),
        }
    }

    pub fn of(&self, key: &ApiKey) -> Option<RateLimit> {
        key.rate_limit.or(self.default)
    }

    /// Counts a call of a key; `None` if the key has no limit.
    pub fn count(&self, key: &ApiKey) -> Option<RateState> {
        let rate = self.of(key)?;
        Some(self.limiters.count(key.id, rate))
    }
}

impl<K: Copy + Eq + Hash> Limiters<K> {
    pub fn new(elapsed: Elapsed) -> Self {
        Self {
            elapsed,
            table: RwLock::new(Table {
                limiters: HashMap::default(),
                sweep_at: MIN_SWEEP_SIZE,
            }),
        }
    }

    /// Counts one call against this limit.
    pub fn count(&self, key: K, rate: RateLimit) -> RateState {
        let limiter = self.limiter(key, rate);
        let now = (self.elapsed)();
        match limiter.check(now) {
            Ok(state) => RateState {
                rate,
                remaining: state.remaining_burst_capacity(),
                refused: None,
            },
            Err(until) => {
                let wait = until.wait_time_from(now) + limiter.debt_time();
                RateState {
                    rate,
                    remaining: 0,
                    refused: Some(whole_seconds(wait).max(1)),
                }
            }
        }
    }

    /// Returns the limiter of a key, or a new one if its limit has changed.
    fn limiter(&self, key: K, rate: RateLimit) -> Arc<Limiter> {
        let fits = |it: &&Arc<Limiter>| it.rate == rate;
        if let Some(known) = self.table.read().limiters.get(&key).filter(fits) {
            return Arc::clone(known);
        }
        let mut table = self.table.write();
        if let Some(known) = table.limiters.get(&key).filter(fits) {
            return Arc::clone(known);
        }
        if table.limiters.len() >= table.sweep_at {
            let now = millis((self.elapsed)());
            // A full bucket equals a new one.
            table.limiters.retain(|_, it| !it.is_full(now));
            table.sweep_at = MIN_SWEEP_SIZE.max(table.limiters.len() * 2);
        }
        let fresh = Arc::new(Limiter::new(rate, Ticks(Arc::clone(&self.elapsed))));
        table.limiters.insert(key, Arc::clone(&fresh));
        fresh
    }
}

impl Limiter {
    fn new(rate: RateLimit, ticks: Ticks) -> Self {
        let least = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(least(rate.per_second)).allow_burst(least(rate.burst));
        Self {
            rate,
            bucket: RateLimiter::direct_with_clock(quota, ticks).with_middleware(),
            last_checked: AtomicU64::new(0),
            shared: SharedCounts::default(),
        }
    }

    fn is_full(&self, now: u64) -> bool {
        if self.has_debt() {
            return false;
        }
        let quiet = now.saturating_sub(self.last_checked.load(Ordering::Relaxed));
        quiet > u64::from(seconds_for(self.rate.burst, self.rate)) * 1_000
    }
}

impl RateState {
    pub fn admit(&self) -> Result<(), Error> {
        self.check("this API key", "requests")
    }

    /// Refuses the call if it exceeded the limit. `who` and `what` name the caller and the calls in the error.
    pub fn check(&self, who: &str, what: &str) -> Result<(), Error> {
        let Some(seconds) = self.refused else {
            return Ok(());
        };
        let RateLimit { per_second, burst } = self.rate;
        let what = match per_second {
            1 => what.trim_end_matches('s'),
            _ => what,
        };
        let burst = match burst {
            1 => String::new(),
            _ => format!(", and up to {burst} at once after a pause"),
        };
        let wait = counted(seconds, "second");
        let detail =
            format!("{who} may make {per_second} {what} per second{burst}; try again in {wait}");
        Err(Error::new(ErrorKind::RateLimited, detail).retry_after(seconds))
    }

    /// Seconds in which an empty bucket refills.
    pub fn window_seconds(&self) -> u32 {
        seconds_for(self.rate.burst, self.rate)
    }

    /// Seconds until the next call is admitted, or until the bucket is full.
    pub fn reset_seconds(&self) -> u32 {
        let used = self.rate.burst.saturating_sub(self.remaining);
        self.refused.unwrap_or_else(|| seconds_for(used, self.rate))
    }
}

/// Seconds in which this many calls refill, at least one.
fn seconds_for(calls: u32, rate: RateLimit) -> u32 {
    calls.div_ceil(rate.per_second.max(1)).max(1)
}

fn whole_seconds(span: Duration) -> u32 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
