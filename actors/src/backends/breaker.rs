//! The circuit breaker of a backend: it opens after repeated failures, and after a cool-down one probe decides.
//!
//! Only the backend's health counts. A refusal, a block and an answer without an image are successes: the backend answered.
//!
//! A backend may fail because of the request: a prompt or an input image that crashes it. So failures that one account's requests may
//! have caused do not keep other accounts from the backend. They do not open the breaker while requests of another account succeed. If
//! they open it, its cool-down ends when a job of another account waits.

use parking_lot::Mutex;
use std::mem::discriminant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::AccountId;
use tokio::time::Instant;

/// Consecutive failures, over all jobs, that open the breaker.
const THRESHOLD: u32 = 5;
/// Each failed probe doubles the cool-down.
const FIRST_COOL_DOWN: Duration = Duration::from_secs(10);
/// The limit of the cool-down, even if the backend asks for more.
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(120);
/// So long after a success of another account, one account's failures do not open the breaker.
const RECENT: Duration = Duration::from_secs(60);

/// Consecutive failures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    pub faults: u32,
    /// The account whose requests may have caused all of them.
    pub suspect: Option<AccountId>,
}

impl Streak {
    fn and(self, failure: Failure) -> Self {
        Self {
            faults: self.faults.saturating_add(1),
            suspect: failure
                .suspect
                .filter(|it| self.faults == 0 || self.suspect == Some(*it)),
        }
    }

    fn opens(self, successes: &RecentSuccesses, at: Instant) -> bool {
        let is_isolated = |suspect| successes.has_other(suspect, at);
        self.faults >= THRESHOLD && !self.suspect.is_some_and(is_isolated)
    }
}

/// A failed attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// How long the backend asks callers to wait.
    pub retry_after: Option<Duration>,
    /// The account of the request, if the request may be the cause.
    pub suspect: Option<AccountId>,
}

/// The latest successes of the last two accounts: enough to know whether an account other than a given one succeeds.
#[derive(Clone, Debug, Default)]
pub struct RecentSuccesses(Vec<(AccountId, Instant)>);

impl RecentSuccesses {
    fn add(&mut self, account: AccountId, at: Instant) {
        self.0.retain(|(it, _)| *it != account);
        self.0.insert(0, (account, at));
        self.0.truncate(2);
    }

    fn has_other(&self, account: AccountId, at: Instant) -> bool {
        let is_other = |(it, since): &(AccountId, Instant)| {
            *it != account && at.saturating_duration_since(*since) < RECENT
        };
        self.0.iter().any(is_other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Admits runs.
    Closed { streak: Streak },
    /// Admits no run.
    Open {
        /// When a probe is admitted.
        until: Instant,
        /// How often the breaker has opened since the last success.
        times: u32,
        streak: Streak,
    },
    /// One run probes the backend; no other run is admitted.
    HalfOpen {
        /// How often the breaker has opened since the last success.
        times: u32,
        streak: Streak,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerEvent {
    /// A run asks for the backend.
    Requested,
    /// The backend answered, if only with a refusal, to a request of this account.
    Succeeded(AccountId),
    /// The backend did not answer, or is temporarily unavailable.
    Failed(Failure),
    /// The probing run ended without an attempt.
    Abandoned,
    /// A test that generates no image found that the backend works, or a job waits whose account has caused none of the failures.
    CoolDownEnded,
}

impl BreakerState {
    /// The next state, and whether the run that asked may use the backend.
    pub fn after(
        self,
        event: BreakerEvent,
        at: Instant,
        successes: &RecentSuccesses,
    ) -> (Self, bool) {
        let opened = |times: u32, streak: Streak, failure: Failure| Self::Open {
            until: at + cool_down(times, failure.retry_after),
            times,
            streak,
        };
        match (self, event) {
            (Self::Closed { .. }, BreakerEvent::Requested) => (self, true),
            (
                Self::Open {
                    until,
                    times,
                    streak,
                },
                BreakerEvent::Requested,
            ) if at >= until => (Self::HalfOpen { times, streak }, true),
            (Self::Open { .. } | Self::HalfOpen { .. }, BreakerEvent::Requested) => (self, false),
            (_, BreakerEvent::Succeeded(_)) => {
                let streak = Streak::default();
                (Self::Closed { streak }, true)
            }
            (Self::Closed { streak }, BreakerEvent::Failed(failure)) => {
                let streak = streak.and(failure);
                match streak.opens(successes, at) {
                    true => (opened(1, streak, failure), false),
                    false => (Self::Closed { streak }, true),
                }
            }
            (Self::HalfOpen { times, streak }, BreakerEvent::Failed(failure)) => {
                let times = times.saturating_add(1);
                (opened(times, streak.and(failure), failure), false)
            }
            // Failures of attempts that were in flight when the breaker opened count, but do not change `until`.
            (
                Self::Open {
                    until,
                    times,
                    streak,
                },
                BreakerEvent::Failed(failure),
            ) => {
                let streak = streak.and(failure);
                let still = Self::Open {
                    until,
                    times,
                    streak,
                };
                (still, false)
            }
            // The next run is the probe.
            (Self::HalfOpen { times, streak }, BreakerEvent::Abandoned)
            | (Self::Open { times, streak, .. }, BreakerEvent::CoolDownEnded) => {
                let next = Self::Open {
                    until: at,
                    times,
                    streak,
                };
                (next, false)
            }
            (Self::Closed { .. } | Self::Open { .. }, BreakerEvent::Abandoned)
            | (Self::Closed { .. } | Self::HalfOpen { .. }, BreakerEvent::CoolDownEnded) => {
                (self, false)
            }
        }
    }
}

fn cool_down(times: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_COOL_DOWN.saturating_mul(2u32.saturating_pow(times.saturating_sub(1)));
    doubled
        .max(asked.unwrap_or_default())
        .min(LONGEST_COOL_DOWN)
}

/// The breaker of one backend. Clones share its state.
#[derive(Clone, Debug)]
pub struct Breaker {
    name: Arc<str>,
    memory: Arc<Mutex<Memory>>,
    opened: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Memory {
    state: BreakerState,
    successes: RecentSuccesses,
}

impl Breaker {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            memory: Arc::new(Mutex::new(Memory {
                state: BreakerState::Closed {
                    streak: Streak::default(),
                },
                successes: RecentSuccesses::default(),
            })),
            opened: Arc::default(),
        }
    }

    /// How often the breaker has opened since the start, including after failed probes.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> BreakerState {
        self.memory.lock().state
    }

    /// Would a run be admitted now? Does not change the state.
    pub fn admits(&self, at: Instant) -> bool {
        let memory = self.memory.lock();
        let after = memory
            .state
            .after(BreakerEvent::Requested, at, &memory.successes);
        after.1
    }

    /// The account whose requests may have caused all failures of an open breaker, during its cool-down.
    pub fn suspect(&self, at: Instant) -> Option<AccountId> {
        match self.state() {
            BreakerState::Open { until, streak, .. } if until > at => streak.suspect,
            _ => None,
        }
    }

    /// When an open breaker admits a probe.
    pub fn until(&self) -> Option<Instant> {
        match self.state() {
            BreakerState::Open { until, .. } => Some(until),
            BreakerState::Closed { .. } | BreakerState::HalfOpen { .. } => None,
        }
    }

    /// Admits a run. After the cool-down the first run is the probe.
    pub fn admit(&self, at: Instant) -> Option<BreakerPass> {
        let (_, after, admitted) = self.step(BreakerEvent::Requested, at);
        admitted.then(|| BreakerPass {
            breaker: self.clone(),
            is_probe: matches!(after, BreakerState::HalfOpen { .. }),
        })
    }

    /// Records an event. Returns true if it opens or closes the breaker.
    pub fn record(&self, event: BreakerEvent, at: Instant) -> bool {
        let (before, after, _) = self.step(event, at);
        discriminant(&before) != discriminant(&after)
    }

    /// The states before and after the event, and whether the run that asked may use the backend.
    fn step(&self, event: BreakerEvent, at: Instant) -> (BreakerState, BreakerState, bool) {
        let mut memory = self.memory.lock();
        if let BreakerEvent::Succeeded(account) = event {
            memory.successes.add(account, at);
        }
        let before = memory.state;
        let (after, admitted) = before.after(event, at, &memory.successes);
        memory.state = after;
        drop(memory);
        let backend = &self.name;
        match (before, after) {
            (
                BreakerState::Closed { .. } | BreakerState::HalfOpen { .. },
                BreakerState::Open {
                    until,
                    times,
                    streak: Streak { faults, .. },
                },
            ) => {
                let failed = matches!(event, BreakerEvent::Failed(_));
                self.opened.fetch_add(u64::from(failed), Ordering::Relaxed);
                let seconds = until.saturating_duration_since(at).as_secs();
                tracing::warn!(%backend, seconds, times, faults, "the backend keeps failing; its circuit breaker is open");
            }
            (
                BreakerState::Open { .. } | BreakerState::HalfOpen { .. },
                BreakerState::Closed { .. },
            ) => {
                tracing::info!(%backend, "the backend responds again; its circuit breaker is closed");
            }
            _ => {}
        }
        (before, after, admitted)
    }
}

/// A breaker's permission to use its backend. If a probe drops its pass without an attempt, the next run is the probe.
#[derive(Debug)]
pub struct BreakerPass {
    breaker: Breaker,
    is_probe: bool,
}

impl BreakerPass {
    /// Records the outcome of an attempt, as [`Breaker::record`].
    pub fn record(&mut self, event: BreakerEvent, at: Instant) -> bool {
        self.is_probe = false;
        self.breaker.record(event, at)
    }
}

impl Drop for BreakerPass {
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.record(BreakerEvent::Abandoned, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
