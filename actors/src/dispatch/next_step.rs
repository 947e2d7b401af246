//! The decision after a failed attempt: what its run does next.

use super::backoff;
use crate::ports::GenerateError;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Try the same backend again after this wait.
    Repeat(Duration),
    /// Try the next backend that the run has not tried.
    FailOver,
    /// Try any backend, as soon as a breaker admits a probe or a pause ends.
    AwaitBackend,
    /// The run ends.
    Fail,
}

/// The state of a run after a failed attempt. A backend is up if it is not paused and its breaker admits runs.
#[derive(Clone, Copy, Debug)]
pub struct RunState {
    /// The wait before a repeat; `None` if this backend may not be tried again.
    pub repeat_after: Option<Duration>,
    /// Until the deadline of the run.
    pub time_left: Duration,
    /// Is the backend of the attempt up?
    pub is_up: bool,
    /// Has the operator paused the backend of the attempt?
    pub is_paused: bool,
    /// The same of all backends of the tier.
    pub is_all_paused: bool,
    /// Has the run not tried a backend that is not paused?
    pub has_untried: bool,
    pub is_untried_up: bool,
    pub is_any_up: bool,
    /// Has no backend received a request of the run, and could at least one not be reached?
    pub is_unreachable: bool,
    /// Does the job's caller wait on a connection, and is this the first run of the job?
    pub has_waiting_caller: bool,
}

/// If another backend is up, a run leaves a backend early: when its breaker opens, or when it asks for a wait longer than the longest
/// backoff. While all breakers are open, a job that no backend has seen waits for a probe, as the queued jobs do.
/// If a caller waits for it on a connection, it fails instead, so that the caller learns soon that it must come back later.
///
/// A paused backend gets no repeat: the run makes it on another backend, or waits for the end of a pause as for a probe.
pub fn next_step(error: &GenerateError, run: &RunState) -> NextStep {
    let repeat = run.repeat_after;
    let repeat = repeat.filter(|wait| error.is_retryable() && *wait < run.time_left);
    let is_moved = run.is_paused && repeat.is_some();
    let is_unserved = run.is_unreachable && !run.is_any_up;
    let is_over = run.time_left.is_zero() || (is_unserved && run.has_waiting_caller);
    if let Some(wait) = repeat
        && !run.is_paused
        && !(run.is_untried_up && (!run.is_up || wait > backoff::MAX_DELAY))
    {
        NextStep::Repeat(wait)
    } else if !(error.allows_failover() || is_moved) || is_over {
        NextStep::Fail
    } else if run.is_all_paused {
        NextStep::AwaitBackend
    } else if run.has_untried || is_moved {
        NextStep::FailOver
    } else if is_unserved {
        NextStep::AwaitBackend
    } else {
        NextStep::Fail
    }
}

#[cfg(test)]
mod tests {
    use super::NextStep::{AwaitBackend, Fail, FailOver, Repeat};
    use super::*;
    use GenerateError::{BackendFault, Refused, Storage, TimedOut, Unreachable};

    type Row = (fn(String) -> GenerateError, RunState, NextStep);

    const WAIT: Duration = Duration::from_secs(1);
    const LONG: Duration = Duration::from_secs(31);
    /// A tier with one backend, which is up.
    const ALONE: RunState = RunState {
        repeat_after: Some(WAIT),
        time_left: Duration::from_secs(60),
        is_up: true,
        is_paused: false,
        is_all_paused: false,
        has_untried: false,
        is_untried_up: false,
        is_any_up: true,
        is_unreachable: false,
        has_waiting_caller: false,
    };
    const ALONE_DOWN: RunState = RunState {
        is_up: false,
        is_any_up: false,
        ..ALONE
    };
    const OTHER_UP: RunState = RunState {
        has_untried: true,
        is_untried_up: true,
        ..ALONE
    };
    const OTHER_DOWN: RunState = RunState {
        has_untried: true,
        ..ALONE
    };

    #[rustfmt::skip]
    #[test]
    fn each_failure_has_its_next_step() {
        let last = |run| RunState { repeat_after: None, ..run };
        let long = |run| RunState { repeat_after: Some(LONG), ..run };
        let down = |run| RunState { is_up: false, ..run };
        let late = |run| RunState { time_left: WAIT, ..run };
        let over = |run| RunState { time_left: Duration::ZERO, ..run };
        let unreachable = |run| RunState { is_unreachable: true, ..run };
        let paused = |run| RunState { is_up: false, is_paused: true, ..run };
        let all_paused = RunState { is_all_paused: true, ..paused(ALONE_DOWN) };
        let awaited = |run| RunState { has_waiting_caller: true, ..unreachable(run) };
        let down_too = RunState { is_up: false, is_any_up: false, ..OTHER_DOWN };
        let rows: [Row; 40] = [
            // A transient error is repeated on its backend, until another one is the better choice.
            (TimedOut, ALONE,                                Repeat(WAIT)),
            (TimedOut, ALONE_DOWN,                           Repeat(WAIT)),
            (TimedOut, long(ALONE),                          Repeat(LONG)),
            (TimedOut, OTHER_UP,                             Repeat(WAIT)),
            (TimedOut, down(OTHER_UP),                       FailOver),
            (TimedOut, long(OTHER_UP),                       FailOver),
            (TimedOut, down(OTHER_DOWN),                     Repeat(WAIT)),
            (TimedOut, long(OTHER_DOWN),                     Repeat(LONG)),
            // After the last repeat, and without the time for one.
            (TimedOut, last(ALONE),                          Fail),
            (TimedOut, last(OTHER_DOWN),                     FailOver),
            (TimedOut, late(ALONE),                          Fail),
            (TimedOut, late(OTHER_DOWN),                     FailOver),
            (TimedOut, over(OTHER_UP),                       Fail),
            // Another attempt on the same backend would fail in the same way.
            (BackendFault, ALONE,                            Fail),
            (BackendFault, OTHER_UP,                         FailOver),
            (BackendFault, OTHER_DOWN,                       FailOver),
            // Another backend would fail in the same way.
            (Refused,  OTHER_UP,                             Fail),
            (Storage,  OTHER_UP,                             Repeat(WAIT)),
            (Storage,  last(OTHER_UP),                       Fail),
            // No backend could be reached.
            (Unreachable, last(unreachable(ALONE_DOWN)),       AwaitBackend),
            (Unreachable, last(ALONE_DOWN),                    Fail),
            (Unreachable, last(unreachable(ALONE)),            Fail),
            (Unreachable, last(unreachable(OTHER_DOWN)),       FailOver),
            (Unreachable, over(last(unreachable(ALONE_DOWN))), Fail),
            // A caller that waits on a connection does not wait for a probe.
            (Unreachable, awaited(ALONE_DOWN),                 Repeat(WAIT)),
            (Unreachable, last(awaited(ALONE_DOWN)),           Fail),
            (Unreachable, last(awaited(down_too)),             Fail),
            (Unreachable, last(awaited(OTHER_DOWN)),           FailOver),
            (Unreachable, last(awaited(all_paused)),           Fail),
            (TimedOut, last(RunState { is_unreachable: false, ..awaited(all_paused) }), AwaitBackend),
            // A paused backend gets no repeat.
            (TimedOut, paused(OTHER_UP),                     FailOver),
            (TimedOut, paused(OTHER_DOWN),                   FailOver),
            (TimedOut, paused(ALONE),                        FailOver),
            (TimedOut, last(paused(ALONE)),                  Fail),
            (TimedOut, all_paused,                           AwaitBackend),
            (TimedOut, over(all_paused),                     Fail),
            (BackendFault, all_paused,                       AwaitBackend),
            (Refused,  all_paused,                           Fail),
            (Storage,  all_paused,                           AwaitBackend),
            (Storage,  last(all_paused),                     Fail),
        ];
        for (at, (error, run, expected)) in rows.into_iter().enumerate() {
            assert_eq!(next_step(&error(String::new()), &run), expected, "row {at}: {run:?}");
        }
    }
}
