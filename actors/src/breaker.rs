//! When a back end is passed over: after repeated faults for a while, then one probe decides.
//!
//! What counts is the back end's health alone. A refusal, a block, an answer without a picture: each says that it is there.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Faults in a row, over all jobs, after which a back end is passed over.
pub const THRESHOLD: u32 = 5;
/// How long it is passed over at first; doubled each time that the probe fails too.
pub const FIRST_COOL_DOWN: Duration = Duration::from_secs(10);
/// How long it is passed over at most, whatever it asks for.
pub const LONGEST_COOL_DOWN: Duration = Duration::from_secs(120);

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The back end is used; so many faults in a row have been seen.
    Closed {
        /// The faults.
        faults: u32,
    },
    /// It is passed over until then.
    Open {
        /// When a probe may be sent.
        until: Instant,
        /// How often in a row it has been opened.
        times: u32,
        /// The faults in a row that have led here.
        faults: u32,
    },
    /// One run tries it out, the others still pass it over.
    HalfOpen {
        /// How often in a row it has been opened.
        times: u32,
        /// The faults in a row that have led here.
        faults: u32,
    },
}

/// What happens to a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A run would like to use the back end.
    Asked,
    /// The back end has answered, be it with a refusal.
    Answered,
    /// It has not, or has said that it cannot at the moment, and for how long.
    Failed(Option<Duration>),
    /// The run that was let through as a probe has ended without a try.
    Abandoned,
}

impl State {
    /// What follows, and whether the run that asked may use the back end.
    pub fn after(self, event: Event, at: Instant) -> (Self, bool) {
        let opened = |times: u32, faults: u32, asked: Option<Duration>| Self::Open {
            until: at + cool_down(times, asked),
            times,
            faults,
        };
        match (self, event) {
            (Self::Closed { .. }, Event::Asked) => (self, true),
            (
                Self::Open {
                    until,
                    times,
                    faults,
                },
                Event::Asked,
            ) if at >= until => (Self::HalfOpen { times, faults }, true),
            (Self::Open { .. } | Self::HalfOpen { .. }, Event::Asked) => (self, false),
            (_, Event::Answered) => (Self::Closed { faults: 0 }, true),
            (Self::Closed { faults }, Event::Failed(asked)) if faults + 1 >= THRESHOLD => {
                (opened(1, faults + 1, asked), false)
            }
            (Self::Closed { faults }, Event::Failed(_)) => {
                (Self::Closed { faults: faults + 1 }, true)
            }
            (Self::HalfOpen { times, faults }, Event::Failed(asked)) => {
                let (times, faults) = (times.saturating_add(1), faults.saturating_add(1));
                (opened(times, faults, asked), false)
            }
            // Tries that were under way when it opened move nothing, but are faults like the others.
            (
                Self::Open {
                    until,
                    times,
                    faults,
                },
                Event::Failed(_),
            ) => {
                let faults = faults.saturating_add(1);
                let still = Self::Open {
                    until,
                    times,
                    faults,
                };
                (still, false)
            }
            (Self::HalfOpen { times, faults }, Event::Abandoned) => {
                let next = Self::Open {
                    until: at,
                    times,
                    faults,
                };
                (next, false)
            }
            (Self::Closed { .. } | Self::Open { .. }, Event::Abandoned) => (self, false),
        }
    }
}

fn cool_down(times: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST_COOL_DOWN.saturating_mul(2u32.saturating_pow(times.saturating_sub(1)));
    doubled
        .max(asked.unwrap_or_default())
        .min(LONGEST_COOL_DOWN)
}

/// The breaker of one back end.
#[derive(Clone, Debug)]
pub struct Breaker {
    name: Arc<str>,
    state: Arc<Mutex<State>>,
    opened: Arc<AtomicU64>,
}

impl Breaker {
    /// A closed one.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            state: Arc::new(Mutex::new(State::Closed { faults: 0 })),
            opened: Arc::default(),
        }
    }

    /// How often it has been opened since the start, after failed probes too.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        *self.state.lock()
    }

    /// Would a run be let through now?
    pub fn admits(&self, at: Instant) -> bool {
        self.state().after(Event::Asked, at).1
    }

    /// When a probe may be sent, where it is open.
    pub fn until(&self) -> Option<Instant> {
        match self.state() {
            State::Open { until, .. } => Some(until),
            State::Closed { .. } | State::HalfOpen { .. } => None,
        }
    }

    /// Lets a run through, or not. After the cool-down one is let through as the probe.
    pub fn admit(&self, at: Instant) -> Option<Pass> {
        let (after, admitted) = self.step(Event::Asked, at);
        admitted.then(|| Pass {
            breaker: self.clone(),
            is_probe: matches!(after, State::HalfOpen { .. }),
        })
    }

    /// Notes how a try went.
    pub fn record(&self, event: Event, at: Instant) {
        self.step(event, at);
    }

    fn step(&self, event: Event, at: Instant) -> (State, bool) {
        let mut state = self.state.lock();
        let before = *state;
        let (after, admitted) = before.after(event, at);
        *state = after;
        drop(state);
        let backend = &self.name;
        match (before, after) {
            (
                State::Closed { .. } | State::HalfOpen { .. },
                State::Open {
                    until,
                    times,
                    faults,
                },
            ) => {
                let failed = matches!(event, Event::Failed(_));
                self.opened.fetch_add(u64::from(failed), Ordering::Relaxed);
                let seconds = until.saturating_duration_since(at).as_secs();
                tracing::warn!(%backend, seconds, times, faults, "a back end keeps failing and is passed over");
            }
            (State::Open { .. } | State::HalfOpen { .. }, State::Closed { .. }) => {
                tracing::info!(%backend, "a back end answers again");
            }
            _ => {}
        }
        (after, admitted)
    }
}

/// A run's leave to use a back end. That of a probe, dropped without a try, lets another run be the probe.
#[derive(Debug)]
pub struct Pass {
    breaker: Breaker,
    /// Do the others pass the back end over until this run has tried it out?
    is_probe: bool,
}

impl Pass {
    /// Notes how a try went.
    pub fn record(&mut self, event: Event, at: Instant) {
        self.is_probe = false;
        self.breaker.record(event, at);
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.is_probe {
            self.breaker.record(Event::Abandoned, Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn closed(faults: u32) -> State {
        State::Closed { faults }
    }

    #[tokio::test(start_paused = true)]
    async fn each_state_takes_each_event() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        let open = |after: u64, times, faults| State::Open {
            until: now + seconds(after),
            times,
            faults,
        };
        let half = |times, faults| State::HalfOpen { times, faults };
        let failed = Event::Failed(None);
        let asking = |after: u64| Event::Failed(Some(seconds(after)));
        const MOST: u32 = u32::MAX;
        for (state, event, next, admitted) in [
            (closed(0), Event::Asked, closed(0), true),
            (closed(4), Event::Asked, closed(4), true),
            (closed(0), failed, closed(1), true),
            (closed(3), failed, closed(4), true),
            (closed(4), failed, open(10, 1, 5), false),
            (closed(4), asking(45), open(45, 1, 5), false),
            (closed(4), asking(1), open(10, 1, 5), false),
            (closed(4), asking(9_999), open(120, 1, 5), false),
            (closed(4), Event::Answered, closed(0), true),
            (closed(4), Event::Abandoned, closed(4), false),
            (open(1, 1, 5), Event::Asked, open(1, 1, 5), false),
            (open(0, 1, 5), Event::Asked, half(1, 5), true),
            (open(1, 2, 6), failed, open(1, 2, 7), false),
            (open(1, 2, 6), Event::Answered, closed(0), true),
            (open(1, 2, 6), Event::Abandoned, open(1, 2, 6), false),
            (half(1, 5), Event::Asked, half(1, 5), false),
            (half(1, 5), failed, open(20, 2, 6), false),
            (half(2, 6), failed, open(40, 3, 7), false),
            (half(40, 44), failed, open(120, 41, 45), false),
            (half(MOST, MOST), failed, open(120, MOST, MOST), false),
            (half(3, 7), Event::Answered, closed(0), true),
            (half(3, 7), Event::Abandoned, open(0, 3, 7), false),
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
            breaker.record(Event::Failed(None), Instant::now());
        }
        assert!(breaker.admit(Instant::now()).is_none());
        tokio::time::advance(FIRST_COOL_DOWN).await;
        assert!(breaker.admits(Instant::now()), "looking is not asking");
        let probe = breaker.admit(Instant::now()).expect("the probe");
        assert!(breaker.admit(Instant::now()).is_none(), "one at a time");
        drop(probe);
        let mut next = breaker.admit(Instant::now()).expect("the next probe");
        assert_eq!(breaker.until(), None, "nobody need wait for a moment");
        next.record(Event::Answered, Instant::now());
        drop(next);
        assert_eq!(breaker.state(), closed(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_leave_from_before_ends_no_probe() {
        let breaker = Breaker::new("it");
        let before = breaker.admit(Instant::now()).expect("closed");
        for _ in 0..THRESHOLD {
            breaker.record(Event::Failed(None), Instant::now());
        }
        assert!(breaker.until().is_some_and(|it| it > Instant::now()));
        tokio::time::advance(FIRST_COOL_DOWN).await;
        let _probe = breaker.admit(Instant::now()).expect("the probe");
        drop(before);
        let faults = THRESHOLD;
        assert_eq!(breaker.state(), State::HalfOpen { times: 1, faults });
    }
}
