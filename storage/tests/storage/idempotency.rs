//! Idempotency keys: one name, one job, one reservation.

use crate::support::*;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{FailureKind, JobEvent, Origin};
use tintype_storage::domain::time::DAY_MILLIS;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{
    AcceptError, AcceptedJob, Deposit, DepositError, IdempotentCall, NewJob, Store,
};
use tintype_storage::testing::memory::MemoryEngine;

/// A job with the idempotency key `name`; `meaning` determines the fingerprint.
fn job(name: &str, meaning: u8) -> NewJob {
    NewJob {
        idempotency: named(name, meaning),
        ..new_job(amount("0.10"))
    }
}

fn replay_of(first: AcceptedJob) -> AcceptedJob {
    AcceptedJob {
        replayed: true,
        ..first
    }
}

fn reused(outcome: &Result<AcceptedJob, AcceptError>) -> bool {
    matches!(outcome, Err(AcceptError::KeyReused))
}

#[test]
fn hostile_48_a_thousand_calls_with_the_same_key_create_one_job() {
    for batch_size in [1, 10, 1_000] {
        let mut till = Till::with("1");
        let mut outcomes = Vec::new();
        for _ in 0..1_000 / batch_size {
            till.decisions(|decisions, ids| {
                for _ in 0..batch_size {
                    outcomes.push(ids.accept(decisions, job("k", 1)).expect("accept"));
                }
            });
        }
        let first = outcomes[0];
        assert!(!first.replayed);
        assert!(outcomes[1..].iter().all(|it| *it == replay_of(first)));
        assert_eq!(till.figures(), ["1.00", "0.10", "0.90"]);
        assert_eq!(till.book.live_jobs(), 1);
        till.check();
    }
}

#[test]
fn hostile_49_the_same_key_with_another_request_is_refused() {
    let mut till = Till::with("1");
    let first = till.decisions(|decisions, ids| {
        let first = ids.accept(decisions, job("k", 1)).expect("accept");
        assert!(reused(&ids.accept(decisions, job("k", 2))), "in one round");
        first
    });
    assert!(reused(&till.accept(job("k", 2))), "in the next round");
    assert_eq!(
        till.accept(job("k", 1)).expect("replay"),
        replay_of(first),
        "the refusal has not taken the key"
    );
    till.check();
}

#[test]
fn hostile_50_keys_are_separate_for_each_call_and_account() {
    let engine = Arc::new(MemoryEngine::new());
    let mut till = Till::open(engine.clone(), ACCOUNT, amount("1"));
    let mut other = Till::open(engine, AccountId(uuid(0xacd)), amount("1"));
    let first = till.accept(job("k", 1)).expect("accept");
    let theirs = other.decisions(|decisions, ids| {
        ids.id();
        ids.accept(decisions, job("k", 1)).expect("accept")
    });
    assert!(!theirs.replayed && theirs.job != first.job);
    let deposited = till
        .deposit(Deposit {
            idempotency: named("k", 1),
            ..deposit(amount("1"))
        })
        .expect("a deposit under the same name");
    assert_eq!(deposited.balance_after, amount("2"));
    // Another API key of the same account gets the first key's job.
    let by_another_key = NewJob {
        key: key(2),
        ..job("k", 1)
    };
    assert_eq!(
        till.accept(by_another_key).expect("replay"),
        replay_of(first)
    );
    till.check();
    other.check();
}

#[test]
fn hostile_51_no_key_is_mistaken_for_another() {
    let mut till = Till::with("100");
    let names: Vec<String> = [
        "", "a", "aa", "aaa", "a\0", "a\0\0", "g", "ga", "d", "é", "\u{7f}",
    ]
    .into_iter()
    .map(String::from)
    .chain(["x".repeat(255), "x".repeat(256), "x".repeat(65_536)])
    // Names that look like the end of another record's key.
    .chain([
        "a\0\0\0\0\0\0\0\0".to_owned(),
        format!("a{}", "\u{1}".repeat(8)),
    ])
    .collect();
    let firsts: Vec<AcceptedJob> = names
        .iter()
        .map(|name| till.accept(job(name, 1)).expect("accept"))
        .collect();
    assert!(firsts.iter().all(|it| !it.replayed));
    for (name, first) in names.iter().zip(firsts) {
        assert_eq!(till.accept(job(name, 1)).expect("replay"), replay_of(first));
    }
    till.check();
}

#[test]
fn hostile_52_a_refused_call_does_not_use_up_its_key() {
    let mut till = Till::with("0.05");
    till.limits.max_live_per_account = 1;
    till.decisions(|decisions, ids| {
        assert!(ids.accept(decisions, job("k", 1)).is_err(), "balance");
        // The name may even come with a different request: the first one was never accepted.
        assert!(!reused(&ids.accept(decisions, job("k", 2))));
        ids.deposit(decisions, deposit(amount("1")))
            .expect("deposit");
        let key = new_job(amount("1")).key;
        ids.spend_limits.insert(key, limit("0.01"));
        assert!(matches!(
            ids.accept(decisions, job("k", 1)),
            Err(AcceptError::KeyLimit(_))
        ));
        ids.spend_limits.clear();
        let blocking = ids
            .accept(decisions, new_job(amount("0.10")))
            .expect("accept");
        assert!(matches!(
            ids.accept(decisions, job("k", 1)),
            Err(AcceptError::TooManyLive { live: 1, .. })
        ));
        ids.apply(decisions, blocking.job, begin()).expect("begin");
        ids.apply(decisions, blocking.job, fail()).expect("fail");
        assert!(!ids.accept(decisions, job("k", 3)).expect("accept").replayed);
    });
    till.check();
}

#[test]
fn a_key_whose_waiting_caller_got_no_response_can_be_used_again() {
    let fail = |kind| JobEvent::Fail {
        error: "no".into(),
        kind,
    };
    let waited_for = || NewJob {
        origin: Origin::Synchronous,
        ..job("k", 1)
    };
    for (event, is_new) in [
        (JobEvent::Cancel, true),
        (fail(FailureKind::Unavailable), true),
        (fail(FailureKind::TimedOut), true),
        (JobEvent::Begin { max_runs: 0 }, true),
        (fail(FailureKind::Refused), false),
        (fail(FailureKind::Blocked), false),
        (fail(FailureKind::Broken), false),
        (finish(), false),
    ] {
        for in_one_batch in [true, false] {
            let mut till = Till::with("1");
            let first = till.decisions(|decisions, ids| {
                let first = ids.accept(decisions, waited_for()).expect("accept");
                if event != JobEvent::Cancel {
                    ids.apply(decisions, first.job, begin()).expect("begin");
                }
                ids.apply(decisions, first.job, event.clone()).expect("end");
                if in_one_batch {
                    let again = ids.accept(decisions, waited_for()).expect("accept");
                    assert_eq!(again.replayed, !is_new, "{event:?}");
                }
                first
            });
            if !in_one_batch {
                let call = IdempotentCall::Submission;
                let known = till
                    .store
                    .idempotency(call, ACCOUNT, "k", at(till.now))
                    .wait();
                assert_eq!(known.expect("read").is_none(), is_new, "{event:?}");
                // After the clock is set back, the new use ends before the old one, which must not reappear.
                till.now -= 1;
            }
            let again = till.accept(waited_for()).expect("accept");
            let replayed = till.accept(waited_for()).expect("replay");
            assert_eq!(again.job != first.job, is_new, "{event:?}");
            assert_eq!(replayed, replay_of(again), "{event:?}");
            assert!(reused(&till.accept(job("k", 2))));
            till.check();
        }
    }
}

#[test]
fn a_replay_returns_a_native_job_even_if_it_was_canceled() {
    let mut till = Till::with("1");
    let first = till.accept(job("k", 1)).expect("accept");
    till.apply(first.job, JobEvent::Cancel).expect("cancel");
    assert_eq!(till.accept(job("k", 1)).expect("replay"), replay_of(first));
}

#[test]
fn a_replay_succeeds_without_funds_and_at_the_limit_of_live_jobs() {
    let mut till = Till::with("0.10");
    till.limits.max_live_per_account = 1;
    let first = till.accept(job("k", 1)).expect("accept");
    assert_eq!(till.accept(job("k", 1)).expect("replay"), replay_of(first));
}

#[test]
fn hostile_53_a_replay_after_a_restart_finds_the_job() {
    let directory = tempfile::tempdir().expect("directory");
    let open = || -> Arc<dyn Engine> {
        let options = SledOptions::new(no_failure());
        Arc::new(SledEngine::open(directory.path(), options).expect("open"))
    };
    let mut till = Till::open(open(), ACCOUNT, amount("1"));
    let first = till.accept(job("k", 1)).expect("accept");
    drop(till);
    let mut till = Till::reload(Store::new(open()), ACCOUNT);
    assert_eq!(till.accept(job("k", 1)).expect("replay"), replay_of(first));
    assert!(reused(&till.accept(job("k", 2))));
    assert_eq!(till.figures(), ["1.00", "0.10", "0.90"]);
    till.check();
}

#[test]
fn hostile_54_a_key_is_replayed_until_the_end_of_its_window() {
    let mut till = Till::with("1");
    let day = i64::try_from(DAY.as_millis()).expect("millis");
    let start = till.now;
    let first = till.accept(job("k", 1)).expect("accept");
    till.now = start + day - 1;
    assert_eq!(till.accept(job("k", 1)).expect("replay"), replay_of(first));
    till.now = start - day;
    assert_eq!(
        till.accept(job("k", 1)).expect("replay"),
        replay_of(first),
        "with the clock set back"
    );
    till.now = start + day;
    let next_id = till.id();
    let second = till.decisions(|decisions, ids| {
        let new = job("k", 2);
        know_key(decisions, new.key, Default::default());
        decisions
            .accept(JobId(next_id), &new, ids.now)
            .expect("a new use")
    });
    assert!(!second.replayed && second.job != first.job);
    till.now = start;
    assert_eq!(
        till.accept(job("k", 2)).expect("replay"),
        replay_of(second),
        "the newest use counts, though the clock went back to when the first one lived"
    );
    till.check();
}

#[test]
fn hostile_54_a_sweep_does_not_delete_a_key_that_was_used_anew_meanwhile() {
    let mut till = Till::with("1");
    till.accept(job("k", 1)).expect("accept");
    till.now += i64::try_from(DAY.as_millis()).expect("millis");
    let (writes, _) = till
        .store
        .delete_expired(at(till.now), &[], 100)
        .wait()
        .expect("sweep");
    let anew = till.accept(job("k", 2)).expect("a new use");
    assert!(!anew.replayed);
    commit_and_wait(&**till.store.engine(), writes).expect("the sweep's commit comes late");
    assert_eq!(till.accept(job("k", 2)).expect("replay"), replay_of(anew));
}

#[test]
fn hostile_55_expired_keys_are_deleted_in_bounded_steps() {
    let mut till = Till::with("1000");
    let accept = |till: &mut Till, name: String| {
        till.accept(job(&name, 1)).expect("accept");
    };
    (0..25).for_each(|number| accept(&mut till, format!("old-{number}")));
    till.now += 1_000;
    (0..18).for_each(|number| accept(&mut till, format!("young-{number}")));
    till.deposit(Deposit {
        idempotency: named("young deposit", 1),
        ..deposit(amount("1"))
    })
    .expect("deposit");
    let sweep_at = at(till.now - 1).plus(DAY);
    let (mut cursor, mut removed, mut steps) = (Vec::new(), 0, 0);
    loop {
        let (writes, next) = till
            .store
            .delete_expired(sweep_at, &cursor, 10)
            .wait()
            .expect("sweep");
        assert!(writes.len() <= 10 && writes.iter().all(|(_, value)| value.is_none()));
        removed += writes.len();
        commit_and_wait(&**till.store.engine(), writes).expect("commit");
        steps += 1;
        assert!(steps < 10, "a sweep ends");
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!((removed, steps), (25, 5));
    let found = |name: &str| {
        let record = till
            .store
            .idempotency(IdempotentCall::Submission, ACCOUNT, name, at(0))
            .wait();
        record.expect("read").is_some()
    };
    assert!(!found("old-7") && found("young-7"));
    let record = till
        .store
        .idempotency(IdempotentCall::Deposit, ACCOUNT, "young deposit", at(0))
        .wait();
    assert!(record.expect("read").is_some());
}

#[test]
fn a_key_is_deleted_from_the_moment_of_its_expiry() {
    let mut till = Till::with("1");
    till.accept(job("k", 1)).expect("accept");
    let end = at(till.now).plus(DAY);
    let sweep = |now| {
        till.store
            .delete_expired(now, &[], 10)
            .wait()
            .expect("sweep")
            .0
    };
    assert_eq!(sweep(at(end.millis() - 1)).len(), 0);
    assert_eq!(sweep(end).len(), 1);
}

#[test]
fn a_step_that_ends_exactly_at_the_last_record_ends_the_sweep_at_the_next() {
    let mut till = Till::with("10");
    (0..10).for_each(|number| drop(till.accept(job(&format!("{number}"), 1))));
    let (writes, cursor) = till
        .store
        .delete_expired(at(0), &[], 10)
        .wait()
        .expect("sweep");
    assert!(writes.is_empty() && !cursor.is_empty());
    let (writes, cursor) = till
        .store
        .delete_expired(at(0), &cursor, 10)
        .wait()
        .expect("sweep");
    assert!(writes.is_empty() && cursor.is_empty());
}

#[test]
fn hostile_56_a_replay_after_the_job_has_ended() {
    let mut till = Till::with("1");
    for (name, end) in [("done", finish()), ("failed", fail())] {
        let first = till.accept(job(name, 1)).expect("accept");
        till.apply(first.job, begin()).expect("begin");
        till.decisions(|decisions, ids| {
            ids.apply(decisions, first.job, end).expect("end");
            assert_eq!(
                ids.accept(decisions, job(name, 1)).expect("replay"),
                replay_of(first)
            );
        });
        assert_eq!(till.accept(job(name, 1)).expect("replay"), replay_of(first));
    }
    assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
    till.check();
}

#[test]
fn a_deposit_with_one_key_is_booked_once_within_and_across_rounds() {
    let mut till = Till::with("1");
    let once = |meaning| Deposit {
        amount: amount("5"),
        reference: Some("invoice 7".into()),
        idempotency: named("d", meaning),
    };
    let first = till.decisions(|decisions, ids| {
        let first = ids.deposit(decisions, once(1)).expect("deposit");
        assert_eq!(ids.deposit(decisions, once(1)).expect("replay"), first);
        assert!(matches!(
            ids.deposit(decisions, once(2)),
            Err(DepositError::KeyReused)
        ));
        first
    });
    assert_eq!(first.reference.as_deref(), Some("invoice 7"));
    assert_eq!(till.deposit(once(1)).expect("replay"), first);
    assert!(matches!(
        till.deposit(once(2)),
        Err(DepositError::KeyReused)
    ));
    till.book = Till::reload(till.store.clone(), ACCOUNT).book;
    assert_eq!(
        till.deposit(once(1)).expect("replay after a restart"),
        first
    );
    assert_eq!(till.figures(), ["6.00", "0.00", "6.00"]);
    till.check();
}

#[test]
fn a_deposit_is_remembered_for_400_days_or_longer_if_jobs_are() {
    let days = |days: i64| days * DAY_MILLIS;
    for (configured, remembered) in [(1, 400), (500, 500)] {
        let mut till = Till::with("1");
        till.limits.idempotency_retention = DAY * configured;
        let once = Deposit {
            idempotency: named("d", 1),
            ..deposit(amount("5"))
        };
        let first = till.deposit(once.clone()).expect("deposit");
        till.now += days(remembered) - 1;
        let again = till.deposit(once.clone()).expect("replay");
        assert_eq!(again, first);
        till.now += 1;
        let second = till.deposit(once).expect("deposit");
        assert_ne!(second.id, first.id);
        till.check();
    }
}

#[test]
fn a_refused_deposit_does_not_use_up_its_key() {
    let mut till = Till::with("1");
    let back = Deposit {
        idempotency: named("d", 1),
        ..deposit(amount("-2"))
    };
    assert!(matches!(
        till.deposit(back.clone()),
        Err(DepositError::Ledger(_))
    ));
    till.deposit(deposit(amount("1"))).expect("deposit");
    till.deposit(back).expect("now there is enough");
    assert_eq!(till.figures(), ["0.00", "0.00", "0.00"]);
}

#[test]
fn a_retention_of_zero_remembers_no_key_beyond_its_round() {
    let mut till = Till::with("1");
    till.limits.idempotency_retention = Duration::ZERO;
    let first = till.accept(job("k", 1)).expect("accept");
    let second = till.accept(job("k", 2)).expect("accept");
    assert!(!second.replayed && first.job != second.job);
}
