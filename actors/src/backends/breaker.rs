//! The circuit breaker of a backend: it opens after repeated failures, and after a cool-down one probe decides.
//!
//! Only the backend's health counts. A refusal, a block and an answer without an image are successes: the backend answered.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Consecutive failures, over all jobs, that open the breaker.
const THRESHOLD: u32 = 5;
/// Each failed probe doubles the cool-down.
const FIRST_COOL_DOWN: Duration = Duration::from_secs(10);
/// The limit of the cool-down, even if the backend asks for more.
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Admits runs.
    Closed {
        /// Consecutive failures.
        faults: u32,
    },
    /// Admits no run.
    Open {
        /// When a probe is admitted.
        until: Instant,
        /// How often the breaker has opened since the last success.
        times: u32,
        /// Consecutive failures.
        faults: u32,
    },
    /// One run probes the backend; no other run is admitted.
    HalfOpen {
        /// How often the breaker has opened since the last success.
        times: u32,
        /// Consecutive failures.
        faults: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerEvent {
    /// A run asks for the backend.
    Requested,
    /// The backend answered, if only with a refusal.
    Succeeded,
    /// The backend did not answer, or is temporarily unavailable. It may ask callers to wait before they retry.
    Failed(Option<Duration>),
    /// The probing run ended without a try.
    Abandoned,
    /// A test that generates no image found that the backend works.
    Tested,
}

impl BreakerState {
    /// The next state, and whether the run that asked may use the backend.
    pub fn after(self, event: BreakerEvent, at: Instant) -> (Self, bool) {
        let opened = |times: u32, faults: u32, asked: Option<Duration>| Self::Open {
            until: at + cool_down(times, asked),
            times,
            faults,
        };
        match (self, event) {
            (Self::Closed { .. }, BreakerEvent::Requested) => (self, true),
            (
                Self::Open {
                    until,
                    times,
                    faults,
                },
                BreakerEvent::Requested,
            ) if at >= until => (Self::HalfOpen { times, faults }, true),
            (Self::Open { .. } | Self::HalfOpen { .. }, BreakerEvent::Requested) => (self, false),
            (_, BreakerEvent::Succeeded) => (Self::Closed { faults: 0 }, true),
            (Self::Closed { faults }, BreakerEvent::Failed(asked)) if faults + 1 >= THRESHOLD => {
                (opened(1, faults + 1, asked), false)
            }
            (Self::Closed { faults }, BreakerEvent::Failed(_)) => {
                (Self::Closed { faults: faults + 1 }, true)
            }
            (Self::HalfOpen { times, faults }, BreakerEvent::Failed(asked)) => {
                let (times, faults) = (times.saturating_add(1), faults.saturating_add(1));
                (opened(times, faults, asked), false)
            }
            // Failures of tries that were in flight when the breaker opened count, but do not change `until`.
            (
                Self::Open {
                    until,
                    times,
                    faults,
                },
                BreakerEvent::Failed(_),
            ) => {
                let faults = faults.saturating_add(1);
                let still = Self::Open {
                    until,
                    times,
                    faults,
                };
                (still, false)
            }
            // The next run is the probe.
            (Self::HalfOpen { times, faults }, BreakerEvent::Abandoned)
            | (Self::Open { times, faults, .. }, BreakerEvent::Tested) => {
                let next = Self::Open {
                    until: at,
                    times,
                    faults,
                };
                (next, false)
            }
            (Self::Closed { .. } | Self::Open { .. }, BreakerEvent::Abandoned)
            | (Self::Closed { .. } | Self::HalfOpen { .. }, BreakerEvent::Tested) => (self, false),
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
    state: Arc<Mutex<BreakerState>>,
    opened: Arc<AtomicU64>,
}

impl Breaker {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            state: Arc::new(Mutex::new(BreakerState::Closed { faults: 0 })),
            opened: Arc::default(),
        }
    }

    /// How often the breaker has opened since the start, including after failed probes.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> BreakerState {
        *self.state.lock()
    }

    /// Would a run be admitted now? Does not change the state.
    pub fn admits(&self, at: Instant) -> bool {
        self.state().after(BreakerEvent::Requested, at).1
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
        let (after, admitted) = self.step(BreakerEvent::Requested, at);
        admitted.then(|| BreakerPass {
            breaker: self.clone(),
            is_probe: matches!(after, BreakerState::HalfOpen { .. }),
        })
    }

    pub fn record(&self, event: BreakerEvent, at: Instant) {
        self.step(event, at);
    }

    fn step(&self, event: BreakerEvent, at: Instant) -> (BreakerState, bool) {
        let mut state = self.state.lock();
        let before = *state;
        let (after, admitted) = before.after(event, at);
        *state = after;
        drop(state);
        let backend = &self.name;
        match (before, after) {
            (
                BreakerState::Closed { .. } | BreakerState::HalfOpen { .. },
                BreakerState::Open {
                    until,
                    times,
                    faults,
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
                tracing::info!(%backend, "the backend answers again; its circuit breaker is closed");
            }
            _ => {}
        }
        (after, admitted)
    }
}

/// A breaker's permission to use its backend. If a probe drops its pass without a try, the next run is the probe.
#[derive(Debug)]
pub struct BreakerPass {
    breaker: Breaker,
    is_probe: bool,
}

impl BreakerPass {
    pub fn record(&mut self, event: BreakerEvent, at: Instant) {
        self.is_probe = false;
        self.breaker.record(event, at);
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
mod tests {
    use super::*;

    const fn closed(faults: u32) -> BreakerState {
        BreakerState::Closed { faults }
    }

    #[tokio::test(start_paused = true)]
    async fn each_state_handles_each_event() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        let open = |after: u64, times, faults| BreakerState::Open {
            until: now + seconds(after),
            times,
            faults,
        };
        let half = |times, faults| BreakerState::HalfOpen { times, faults };
        let failed = BreakerEvent::Failed(None);
        let asking = |after: u64| BreakerEvent::Failed(Some(seconds(after)));
        const MOST: u32 = u32::MAX;
        for (state, event, next, admitted) in [
            (closed(0), BreakerEvent::Requested, closed(0), true),
            (closed(4), BreakerEvent::Requested, closed(4), true),
            (closed(0), failed, closed(1), true),
            (closed(3), failed, closed(4), true),
            (closed(4), failed, open(10, 1, 5), false),
            (closed(4), asking(45), open(45, 1, 5), false),
            (closed(4), asking(1), open(10, 1, 5), false),
            (closed(4), asking(9_999), open(120, 1, 5), false),
            (closed(4), BreakerEvent::Succeeded, closed(0), true),
            (closed(4), BreakerEvent::Abandoned, closed(4), false),
            (open(1, 1, 5), BreakerEvent::Requested, open(1, 1, 5), false),
            (open(0, 1, 5), BreakerEvent::Requested, half(1, 5), true),
            (open(1, 2, 6), failed, open(1, 2, 7), false),
            (open(1, 2, 6), BreakerEvent::Succeeded, closed(0), true),
            (open(1, 2, 6), BreakerEvent::Abandoned, open(1, 2, 6), false),
            (half(1, 5), BreakerEvent::Requested, half(1, 5), false),
            (half(1, 5), failed, open(20, 2, 6), false),
            (half(2, 6), failed, open(40, 3, 7), false),
            (half(40, 44), failed, open(120, 41, 45), false),
            (half(MOST, MOST), failed, open(120, MOST, MOST), false),
            (half(3, 7), BreakerEvent::Succeeded, closed(0), true),
            (half(3, 7), BreakerEvent::Abandoned, open(0, 3, 7), false),
            (closed(4), BreakerEvent::Tested, closed(4), false),
            (open(90, 3, 7), BreakerEvent::Tested, open(0, 3, 7), false),
            (half(3, 7), BreakerEvent::Tested, half(3, 7), false),
        ] {
            assert_eq!(
                state.after(event, now),
                (next, admitted),
                "{state:?} {event:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_cool_down_one_run_at_a_time_is_the_probe() {
        let breaker = Breaker::new("it");
        for _ in 0..THRESHOLD {
            breaker.record(BreakerEvent::Failed(None), Instant::now());
        }
        assert!(breaker.admit(Instant::now()).is_none());
        tokio::time::advance(FIRST_COOL_DOWN).await;
        assert!(breaker.admits(Instant::now()), "the check changes nothing");
        let probe = breaker.admit(Instant::now()).expect("the probe");
        assert!(breaker.admit(Instant::now()).is_none(), "one at a time");
        drop(probe);
        let mut next = breaker.admit(Instant::now()).expect("the next probe");
        assert_eq!(breaker.until(), None, "a probe is due at once");
        next.record(BreakerEvent::Succeeded, Instant::now());
        drop(next);
        assert_eq!(breaker.state(), closed(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_issued_before_the_breaker_opened_does_not_end_a_probe() {
        let breaker = Breaker::new("it");
        let before = breaker.admit(Instant::now()).expect("closed");
        for _ in 0..THRESHOLD {
            breaker.record(BreakerEvent::Failed(None), Instant::now());
        }
        assert!(breaker.until().is_some_and(|it| it > Instant::now()));
        tokio::time::advance(FIRST_COOL_DOWN).await;
        let _probe = breaker.admit(Instant::now()).expect("the probe");
        drop(before);
        let faults = THRESHOLD;
        assert_eq!(breaker.state(), BreakerState::HalfOpen { times: 1, faults });
    }
}
