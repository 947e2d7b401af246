//! Transitions of a breaker, probes, and accounts that cause failures.

use super::*;

const fn streak(faults: u32) -> Streak {
    Streak {
        faults,
        suspect: None,
    }
}

const fn closed(faults: u32) -> BreakerState {
    BreakerState::Closed {
        streak: streak(faults),
    }
}

const fn account(number: u128) -> AccountId {
    AccountId(uuid::Uuid::from_u128(number))
}

fn failure_of(number: u128) -> BreakerEvent {
    BreakerEvent::Failed(Failure {
        suspect: Some(account(number)),
        ..Failure::default()
    })
}

#[tokio::test(start_paused = true)]
async fn each_state_handles_each_event() {
    let now = Instant::now();
    let seconds = Duration::from_secs;
    let open = |after: u64, times, faults| BreakerState::Open {
        until: now + seconds(after),
        times,
        streak: streak(faults),
    };
    let half = |times, faults| BreakerState::HalfOpen {
        times,
        streak: streak(faults),
    };
    let failed = BreakerEvent::Failed(Failure::default());
    let asking = |after: u64| {
        BreakerEvent::Failed(Failure {
            retry_after: Some(seconds(after)),
            suspect: None,
        })
    };
    let succeeded = BreakerEvent::Succeeded(account(1));
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
        (closed(4), succeeded, closed(0), true),
        (closed(4), BreakerEvent::Abandoned, closed(4), false),
        (open(1, 1, 5), BreakerEvent::Requested, open(1, 1, 5), false),
        (open(0, 1, 5), BreakerEvent::Requested, half(1, 5), true),
        (open(1, 2, 6), failed, open(1, 2, 7), false),
        (open(1, 2, 6), succeeded, closed(0), true),
        (open(1, 2, 6), BreakerEvent::Abandoned, open(1, 2, 6), false),
        (half(1, 5), BreakerEvent::Requested, half(1, 5), false),
        (half(1, 5), failed, open(20, 2, 6), false),
        (half(2, 6), failed, open(40, 3, 7), false),
        (half(40, 44), failed, open(120, 41, 45), false),
        (half(MOST, MOST), failed, open(120, MOST, MOST), false),
        (half(3, 7), succeeded, closed(0), true),
        (half(3, 7), BreakerEvent::Abandoned, open(0, 3, 7), false),
        (closed(4), BreakerEvent::CoolDownEnded, closed(4), false),
        (
            open(90, 3, 7),
            BreakerEvent::CoolDownEnded,
            open(0, 3, 7),
            false,
        ),
        (half(3, 7), BreakerEvent::CoolDownEnded, half(3, 7), false),
    ] {
        assert_eq!(
            state.after(event, now, &RecentSuccesses::default()),
            (next, admitted),
            "{state:?} {event:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_cool_down_one_run_at_a_time_is_the_probe() {
    let breaker = Breaker::new("it");
    for _ in 0..THRESHOLD {
        breaker.record(failure_of(1), Instant::now());
    }
    assert!(breaker.admit(Instant::now()).is_none());
    tokio::time::advance(FIRST_COOL_DOWN).await;
    assert!(breaker.admits(Instant::now()), "the check changes nothing");
    let probe = breaker.admit(Instant::now()).expect("the probe");
    assert!(breaker.admit(Instant::now()).is_none(), "one at a time");
    drop(probe);
    let mut next = breaker.admit(Instant::now()).expect("the next probe");
    assert_eq!(breaker.until(), None, "a probe is due at once");
    next.record(BreakerEvent::Succeeded(account(1)), Instant::now());
    drop(next);
    assert_eq!(breaker.state(), closed(0));
}

#[tokio::test(start_paused = true)]
async fn a_pass_issued_before_the_breaker_opened_does_not_end_a_probe() {
    let breaker = Breaker::new("it");
    let before = breaker.admit(Instant::now()).expect("closed");
    for _ in 0..THRESHOLD {
        breaker.record(failure_of(1), Instant::now());
    }
    assert!(breaker.until().is_some_and(|it| it > Instant::now()));
    tokio::time::advance(FIRST_COOL_DOWN).await;
    let _probe = breaker.admit(Instant::now()).expect("the probe");
    drop(before);
    assert!(matches!(
        breaker.state(),
        BreakerState::HalfOpen { times: 1, .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn the_successes_of_an_account_do_not_excuse_its_own_failures() {
    let breaker = Breaker::new("it");
    breaker.record(BreakerEvent::Succeeded(account(1)), Instant::now());
    for _ in 0..THRESHOLD {
        assert_eq!(breaker.until(), None);
        breaker.record(failure_of(1), Instant::now());
    }
    assert!(breaker.until().is_some(), "no other account succeeds");
}

#[tokio::test(start_paused = true)]
async fn many_successes_of_one_account_do_not_hide_those_of_another() {
    let mut successes = RecentSuccesses::default();
    for number in [3, 2, 1, 1, 1] {
        successes.add(account(number), Instant::now());
    }
    assert!(successes.has_other(account(1), Instant::now()));
    assert_eq!(successes.0.len(), 2, "the memory is bounded");
}

#[tokio::test(start_paused = true)]
async fn one_accounts_failures_open_the_breaker_only_if_no_other_account_succeeds() {
    let breaker = Breaker::new("it");
    let is_open = || breaker.until().is_some();
    let record = |event| breaker.record(event, Instant::now());
    record(BreakerEvent::Succeeded(account(2)));
    record(BreakerEvent::Succeeded(account(1)));
    for _ in 0..20 {
        record(failure_of(1));
    }
    assert!(!is_open(), "another account succeeds");
    record(failure_of(2));
    assert!(is_open(), "a second account fails too");
    assert_eq!(breaker.suspect(Instant::now()), None);

    record(BreakerEvent::Succeeded(account(2)));
    for _ in 0..THRESHOLD - 1 {
        record(failure_of(1));
    }
    record(BreakerEvent::Failed(Failure::default()));
    assert!(is_open(), "the last failure was not due to the request");

    record(BreakerEvent::Succeeded(account(2)));
    tokio::time::advance(RECENT).await;
    for _ in 0..THRESHOLD {
        assert!(!is_open());
        record(failure_of(1));
    }
    assert!(is_open(), "no other account uses the backend");
    assert_eq!(breaker.suspect(Instant::now()), Some(account(1)));
    record(BreakerEvent::CoolDownEnded);
    assert_eq!(breaker.suspect(Instant::now()), None, "a probe is due");
    let mut probe = breaker.admit(Instant::now()).expect("the probe");
    probe.record(failure_of(2), Instant::now());
    assert!(is_open());
    assert_eq!(breaker.suspect(Instant::now()), None, "two accounts failed");
}
