//! Job events: races within a round, runs, limits, and events that do not apply.

use crate::support::*;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId, TransactionId};
use tintype_storage::domain::job::{
    CANCELED, FailureKind, INTERRUPTED, JobEvent, JobState, TransitionError,
};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::{EXPIRIES, LEDGER};
use tintype_storage::store::{AcceptError, EventError, NewJob, RoundReads, Store, StoreError};
use tintype_storage::testing::memory::MemoryEngine;

#[test]
fn hostile_41_a_job_is_settled_once_and_late_events_are_rejected() {
    for in_one_batch in [true, false] {
        let mut till = Till::with("1");
        let [done, failed] = [till.running("0.10"), till.running("0.20")];
        let events = [
            (done, finish()),
            (failed, fail()),
            (done, finish()),
            (done, fail()),
            (done, begin()),
            (done, JobEvent::Cancel),
            (done, JobEvent::CutOff),
            (failed, finish()),
            (failed, fail()),
        ];
        let outcomes: Vec<_> = if in_one_batch {
            till.decisions(|decisions, ids| {
                events.map(|(job, event)| ids.apply(decisions, job, event))
            })
            .into()
        } else {
            events.map(|(job, event)| till.apply(job, event)).into()
        };
        assert!(outcomes[..2].iter().all(Result::is_ok));
        for late in &outcomes[2..] {
            assert!(
                matches!(
                    late,
                    Err(EventError::Transition(TransitionError::AlreadyTerminal(_)))
                ),
                "{late:?}"
            );
        }
        assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
        let charges = LEDGER.page(&till.store, &ACCOUNT, 99, None).wait();
        let charges = charges.expect("ledger").items;
        assert_eq!(charges.len(), 2, "the opening deposit and one charge");
        till.check();
    }
}

#[test]
fn hostile_41_of_cancel_and_begin_in_one_round_the_first_wins() {
    for cancel_first in [true, false] {
        let mut till = Till::with("1");
        let job = till.accept(new_job(amount("0.10"))).expect("accept").job;
        let (cancel, run) = till.decisions(|decisions, ids| {
            if cancel_first {
                let cancel = ids.apply(decisions, job, JobEvent::Cancel);
                (cancel, ids.apply(decisions, job, begin()))
            } else {
                let run = ids.apply(decisions, job, begin());
                (ids.apply(decisions, job, JobEvent::Cancel), run)
            }
        });
        if cancel_first {
            let JobState::Failed {
                error, started_at, ..
            } = cancel.expect("cancel").state
            else {
                panic!("not failed")
            };
            assert_eq!((error.as_str(), started_at), (CANCELED, None));
            assert!(matches!(
                run,
                Err(EventError::Transition(TransitionError::AlreadyTerminal(
                    "failed"
                )))
            ));
            assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
        } else {
            run.expect("begin");
            assert!(matches!(
                cancel,
                Err(EventError::Transition(TransitionError::AlreadyStarted))
            ));
            till.apply(job, finish()).expect("finish");
            assert_eq!(till.figures(), ["0.90", "0.00", "0.90"]);
        }
        till.check();
    }
}

#[test]
fn the_configured_limit_of_live_jobs_per_account_is_enforced() {
    let mut till = Till::with("1");
    till.limits.max_live_per_account = 2;
    let first = till.running("0.10");
    till.decisions(|decisions, ids| {
        ids.accept(decisions, new_job(amount("0.10")))
            .expect("second");
        let refused = ids.accept(decisions, new_job(amount("0.10")));
        assert!(matches!(
            refused,
            Err(AcceptError::TooManyLive { live: 2, .. })
        ));
        ids.apply(decisions, first, finish()).expect("finish");
        ids.accept(decisions, new_job(amount("0.10")))
            .expect("a place");
        let refused = ids.accept(decisions, new_job(amount("0.10")));
        assert!(matches!(
            refused,
            Err(AcceptError::TooManyLive { live: 2, .. })
        ));
    });
    assert_eq!(till.figures(), ["0.90", "0.20", "0.70"]);
    till.check();
}

#[test]
fn runs_are_counted_and_the_last_one_ends_the_job() {
    let mut till = Till::with("1");
    let job = till.running("0.10");
    let first = at(till.now);
    for _ in 0..5 {
        // A run interrupted by an orderly shutdown does not count.
        till.now += 1_000;
        till.apply(job, JobEvent::CutOff).expect("cut off");
        till.apply(job, begin()).expect("begin");
    }
    for run in [2, 3] {
        till.now += 1_000;
        let state = till.apply(job, begin()).expect("begin").state;
        assert_eq!(
            state,
            JobState::Processing {
                started_at: first,
                runs: run
            }
        );
    }
    let ended = till.apply(job, begin()).expect("the fourth").state;
    assert_eq!(
        ended,
        JobState::Failed {
            started_at: Some(first),
            finished_at: at(till.now),
            error: INTERRUPTED.into(),
            kind: FailureKind::Interrupted,
        }
    );
    assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
    till.check();
}

#[test]
fn hostile_109_a_clock_set_back_starts_no_job_before_it_was_accepted() {
    let mut till = Till::with("1");
    let accepted_at = at(till.now);
    let run = till.accept(new_job(amount("0.10"))).expect("accept").job;
    let canceled = till.accept(new_job(amount("0.10"))).expect("accept").job;
    till.now -= 500_000;
    let job = till.apply(run, begin()).expect("begin");
    assert!(
        matches!(job.state, JobState::Processing { started_at, .. } if started_at == accepted_at)
    );
    let job = till.apply(canceled, JobEvent::Cancel).expect("cancel");
    assert!(
        matches!(job.state, JobState::Failed { finished_at, .. } if finished_at == accepted_at)
    );
}

#[test]
fn unknown_jobs_and_those_of_others_are_not_found() {
    let engine = std::sync::Arc::new(MemoryEngine::new());
    let mut till = Till::open(engine.clone(), ACCOUNT, amount("1"));
    let other = AccountId(uuid(0xacd));
    let mut others = Till::open(engine, other, amount("1"));
    let theirs = others.running("0.10");
    for job in [theirs, JobId(uuid(77))] {
        for event in [
            begin(),
            finish(),
            fail(),
            JobEvent::Cancel,
            JobEvent::CutOff,
        ] {
            assert!(matches!(till.apply(job, event), Err(EventError::NotFound)));
        }
    }
    assert_eq!(till.store.job(ACCOUNT, theirs).wait().expect("read"), None);
    assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
    assert_eq!(others.figures(), ["1.00", "0.10", "0.90"]);
    others.check();
}

#[test]
fn a_batch_that_decides_nothing_writes_nothing() {
    let till = Till::with("0");
    let reads = RoundReads::new(&till.store);
    let mut decisions = till.book.decisions(&reads, limits());
    let new = new_job(amount("1"));
    know_key(&mut decisions, new.key, Default::default());
    let refused = decisions.accept(JobId(uuid(9)), &new, at(0));
    assert!(insufficient(&refused));
    let unknown = decisions.apply(JobId(uuid(9)), begin(), TransactionId(uuid(10)), at(0));
    assert!(matches!(unknown, Err(EventError::NotFound)));
    assert!(decisions.finish().expect("writes").writes.is_empty());
}

#[test]
fn an_event_that_fails_on_an_unreadable_record_leaves_the_round_fit_to_commit() {
    let mut till = Till::with("1");
    let job = till.running("0.10");
    let store: Store = till.store.clone();
    // The spending of key 1 is unreadable: a newer version wrote it.
    let spent = [b"u".as_slice(), key(1).as_bytes()].concat();
    commit_and_wait(&**store.engine(), vec![(spent.clone(), Some(vec![99]))])
        .expect("a newer record");
    till.book = Till::reload(store.clone(), ACCOUNT).book;
    till.decisions(|decisions, ids| {
        let refused = ids.apply(decisions, job, finish());
        assert!(matches!(
            refused,
            Err(EventError::Store(StoreError::NewerFormat { .. }))
        ));
        ids.deposit(decisions, deposit(amount("1")))
            .expect("deposit");
    });
    commit_and_wait(&**store.engine(), vec![(spent, None)]).expect("mend");
    assert_eq!(till.figures(), ["2.00", "0.10", "1.90"]);
    till.check();
    till.apply(job, finish()).expect("finish");
    till.check();
}

#[test]
fn an_expiry_is_due_at_its_time_and_is_deleted_even_if_the_job_has_begun() {
    for has_begun in [false, true] {
        let mut till = Till::with("1");
        let new = NewJob {
            cancel_after: Some(Duration::from_secs(60)),
            ..new_job(amount("0.10"))
        };
        let job = till.accept(new).expect("accept").job;
        let due = at(till.now + 60_000);
        let recorded = |till: &Till| EXPIRIES.all(&till.store).wait().expect("expiries");
        assert_eq!(recorded(&till), [((due, job), ACCOUNT)]);
        if has_begun {
            till.apply(job, begin()).expect("begin");
        }
        till.now += 60_000;
        let expired = till.apply(job, JobEvent::Expire { due });
        assert_eq!(expired.is_ok(), !has_begun);
        assert_eq!(recorded(&till), []);
        till.check();
    }
}

#[test]
fn a_round_names_the_jobs_that_left_the_queue_without_a_run() {
    let mut till = Till::with("1");
    let [canceled, running, queued] =
        [(); 3].map(|()| till.accept(new_job(amount("0.10"))).expect("accept").job);
    till.apply(running, begin()).expect("begin");
    let reads = RoundReads::new(&till.store);
    let mut decisions = till.book.decisions(&reads, till.limits);
    for (number, job, event) in [
        (1, canceled, JobEvent::Cancel),
        (2, running, fail()),
        (3, queued, begin()),
    ] {
        let entry = TransactionId(uuid(5_000 + number));
        decisions
            .apply(job, event, entry, at(till.now))
            .expect("applied");
    }
    let left = decisions.finish().expect("balances that add up").left_queue;
    assert_eq!(left, [(Tier::Fast, canceled)]);
}
